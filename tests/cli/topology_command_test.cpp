// `acid topology`: the numbers, the edges, and what is refused.
#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using acid::test::Folder;
using Words = std::vector<std::string>;

TEST_CASE("topology --json has the closed forms of a ring and their scaling with the rate") {
  const Folder folder;
  // Ring of 4 at r = 1: every edge has rate 1/2, so λ₂ = 1 and (eᵢ−eⱼ)ᵀΛ⁺(eᵢ−eⱼ) = 3/2.
  const auto ring = folder.told({"topology", "ring", "4"});
  CHECK(ring["schema_version"] == 1);
  CHECK(ring["workers"] == 4);
  CHECK(ring["rate"] == 1.0);
  CHECK(ring["lambda_sum"].get<double>() == Approx(2).epsilon(1e-12));
  CHECK(ring["chi1"].get<double>() == Approx(1).epsilon(1e-9));
  CHECK(ring["chi2"].get<double>() == Approx(0.75).epsilon(1e-9));
  CHECK(ring["eta"].get<double>() == Approx(0.5 / std::sqrt(0.75)).epsilon(1e-9));
  CHECK(ring["alpha_tilde"].get<double>() == Approx(0.5 / std::sqrt(0.75)).epsilon(1e-9));
  REQUIRE(ring["edges"].size() == 4);
  CHECK(ring["edges"][0] == nlohmann::json::parse("[0, 1, 0.5]"));
  CHECK(ring["edges"][1] == nlohmann::json::parse("[0, 3, 0.5]"));
  const auto twice = folder.told({"topology", "ring", "4", "--rate", "2"});
  CHECK(twice["lambda_sum"].get<double>() == Approx(4).epsilon(1e-12));
  CHECK(twice["chi1"].get<double>() == Approx(0.5).epsilon(1e-9));
  CHECK(twice["alpha_tilde"].get<double>() == Approx(ring["alpha_tilde"].get<double>()));
}

TEST_CASE("graphs of one worker, of too many edges to list, and of edges that are given") {
  const Folder folder;
  const auto one = folder.told({"topology", "ring", "1"});
  CHECK(one["edges"].empty());
  CHECK(one["chi1"].is_null());
  folder.done({"topology", "complete", "1"});
  const auto huge = folder.told({"topology", "complete", "100000"});
  CHECK(huge["edges"].is_null());
  CHECK(huge["edge_count"] == 4999950000);
  CHECK(huge["lambda_sum"].get<double>() == Approx(50000));
  const auto given = folder.told({"topology", "edges", "3", "--option", "edges=[[0,1],[1,2,2.0]]"});
  CHECK(given["edges"].size() == 2);
  CHECK_THAT(folder.done({"topology", "star", "5"}).out, ContainsSubstring("χ₁"));
  CHECK_THAT(folder.done({"topology", "ring", "100"}).out, ContainsSubstring("--json"));
}

TEST_CASE("topology says what is known of graphs that change from exchange to exchange") {
  const Folder folder;
  const auto of = [&](Words arguments) {
    arguments.insert(arguments.begin(), "topology");
    return folder.told(arguments)["schedule"];
  };
  const auto eight = of({"one-peer-exponential", "8"});
  CHECK(eight["period"] == 3);
  CHECK(eight["messages"] == 8.0);
  CHECK(eight["stochastic"] == "doubly");
  CHECK(eight["left"].get<double>() < 1e-7);
  CHECK(of({"one-peer-exponential", "6"})["left"].get<double>() > 0.01);
  const auto push = of({"epidemic", "8", "--option", "form=push"});
  CHECK(push["period"].is_null());
  CHECK(push["stochastic"] == "columns");
  CHECK(of({"ring", "8"}).is_null());
  CHECK_THAT(folder.done({"topology", "epidemic", "8", "--option", "form=push"}).out,
             ContainsSubstring("push-sum") && ContainsSubstring("16 per exchange"));
}

TEST_CASE("an unknown kind, a wrong option, an impossible size and a senseless rate exit with 2") {
  const Folder folder;
  folder.done({"topology", "random-regular", "8", "--option", "degree=3", "--option", "seed=5"});
  const auto check = [&](Words arguments, const Words& says = {}) {
    arguments.insert(arguments.begin(), "topology");
    const auto result = folder.call(arguments);
    check_refused(result, says);
    CHECK_FALSE(result.err.empty());
  };
  for (const auto& [option, says] : {std::pair{"degre=3", "did you mean 'degree'?"},
                                     {"degree=three", "must be a whole number"},
                                     {"degree=-1", "at least"},
                                     {"degree", "has no value"}})
    check({"random-regular", "8", "--option", option}, {says});
  check({"edges", "4", "--option", "edges=[[0,1],[2,3]]"}, {"connected"});
  check({"rnig", "4"}, {"did you mean 'ring'?"});
  check({"ring", "0"});
  check({"ring", "four"});
  check({"bipartite-exponential", "7"});
  for (const char* rate : {"0", "nan", "inf"}) check({"ring", "4", "--rate", rate});
}

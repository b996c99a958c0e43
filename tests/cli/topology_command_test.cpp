// `acid topology`: the numbers, the edges, and what is refused.
#include <string>

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using acid::test::Folder;

TEST_CASE("topology --json has the closed forms of a ring and their scaling with the rate") {
  const Folder folder;
  // Ring of 4 at r = 1: every edge has rate 1/2, so λ₂ = 1 and (eᵢ−eⱼ)ᵀΛ⁺(eᵢ−eⱼ) = 3/2.
  const auto ring = acid::test::acid(folder, {"topology", "ring", "4", "--json"}).json();
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

  const auto twice =
      acid::test::acid(folder, {"topology", "ring", "4", "--rate", "2", "--json"}).json();
  CHECK(twice["lambda_sum"].get<double>() == Approx(4).epsilon(1e-12));
  CHECK(twice["chi1"].get<double>() == Approx(0.5).epsilon(1e-9));
  CHECK(twice["alpha_tilde"].get<double>() == Approx(ring["alpha_tilde"].get<double>()));
}

TEST_CASE("topology of one worker has no edges and no gossip") {
  const Folder folder;
  const auto one = acid::test::acid(folder, {"topology", "ring", "1", "--json"});
  REQUIRE(one.code == 0);
  CHECK(one.json()["edges"].empty());
  CHECK(one.json()["chi1"].is_null());
  CHECK(acid::test::acid(folder, {"topology", "complete", "1"}).code == 0);
}

TEST_CASE("a complete graph too large to list keeps its numbers") {
  const Folder folder;
  const auto huge = acid::test::acid(folder, {"topology", "complete", "100000", "--json"});
  REQUIRE(huge.code == 0);
  CHECK(huge.json()["edges"].is_null());
  CHECK(huge.json()["edge_count"] == 4999950000);
  CHECK(huge.json()["lambda_sum"].get<double>() == Approx(50000));
}

TEST_CASE("topology says what is known of graphs that change from exchange to exchange") {
  const Folder folder;
  const auto of = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "topology");
    arguments.emplace_back("--json");
    return acid::test::acid(folder, arguments).json()["schedule"];
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
  const auto text =
      acid::test::acid(folder, {"topology", "epidemic", "8", "--option", "form=push"});
  CHECK_THAT(text.out, ContainsSubstring("push-sum") && ContainsSubstring("16 per exchange"));
}

TEST_CASE("options of a kind are checked against its fields") {
  const Folder folder;
  const auto run = [&](const std::vector<std::string>& options) {
    std::vector<std::string> arguments{"topology", "random-regular", "8"};
    for (const std::string& option : options) {
      arguments.push_back("--option");
      arguments.push_back(option);
    }
    return acid::test::acid(folder, arguments);
  };
  CHECK(run({"degree=3", "seed=5"}).code == 0);
  for (const auto& [options, message] :
       {std::pair<std::vector<std::string>, const char*>{{"degre=3"}, "did you mean 'degree'?"},
        {{"degree=three"}, "expected an integer"},
        {{"degree=-1"}, "outside"},
        {{"degree"}, "has no value"}}) {
    const auto result = run(options);
    INFO(result.err);
    CHECK(result.code == 2);
    CHECK(result.out.empty());
    CHECK_THAT(result.err, ContainsSubstring(message));
  }
}

TEST_CASE("edges can be given on the command line or in a file") {
  const Folder folder;
  const auto given = acid::test::acid(
      folder, {"topology", "edges", "3", "--option", "edges=[[0,1],[1,2,2.0]]", "--json"});
  INFO(given.err);
  REQUIRE(given.code == 0);
  CHECK(given.json()["edges"].size() == 2);
  const auto disconnected =
      acid::test::acid(folder, {"topology", "edges", "4", "--option", "edges=[[0,1],[2,3]]"});
  CHECK(disconnected.code == 2);
  CHECK_THAT(disconnected.err, ContainsSubstring("connected"));
}

TEST_CASE("an unknown kind, an impossible size and a senseless rate exit with 2") {
  const Folder folder;
  CHECK_THAT(acid::test::acid(folder, {"topology", "rnig", "4"}).err,
             ContainsSubstring("did you mean 'ring'?"));
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"topology", "rnig", "4"},
        {"topology", "ring", "0"},
        {"topology", "ring", "four"},
        {"topology", "bipartite-exponential", "7"},
        {"topology", "ring", "4", "--rate", "0"},
        {"topology", "ring", "4", "--rate", "nan"},
        {"topology", "ring", "4", "--rate", "inf"}}) {
    const auto result = acid::test::acid(folder, arguments);
    INFO(result.err);
    CHECK(result.code == 2);
    CHECK(result.out.empty());
    CHECK_FALSE(result.err.empty());
  }
}

TEST_CASE("the text form lists few edges and points to --json for many") {
  const Folder folder;
  CHECK_THAT(acid::test::acid(folder, {"topology", "star", "5"}).out, ContainsSubstring("χ₁"));
  CHECK_THAT(acid::test::acid(folder, {"topology", "ring", "100"}).out,
             ContainsSubstring("--json"));
}

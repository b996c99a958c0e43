// acid compare, report, figure and export: which runs they take, and what the page claims.
#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

namespace acid::test {
namespace {

std::string flat_task(const std::string& algorithm) {
  return "name = \"flat\"\nseeds = [1, 2, 3]\n[task]\ndataset = { kind = \"quadratic\", dimension "
         "= "
         "32, curvature = 0.0, initial_spread = 1.0 }\n[workers]\ncount = 16\n[topology]\n"
         "kind = \"ring\"\n[budget]\nnormalised_time = 60\n[execution.virtual]\n"
         "gradient_clock = \"none\"\n[evaluation]\nevery_time = 1.0\n[[algorithms]]\n" +
         algorithm;
}

std::string page_of(const std::string& algorithm) {
  const Folder folder;
  folder.write("flat.toml", flat_task(algorithm));
  folder.done({"run", "flat.toml"});
  const Result report = folder.done({"report", "--html", "-o", "-"});
  return report.out;
}

// Three methods on two graphs with two numbers of workers; ar-sgd reads no graph.
struct Sweep : Folder {
  Sweep() {
    write("sweep.toml", std::string(kSmallRecipe) +
                            "[sweep]\nworkers.count = [2, 4]\ntopology.kind = [\"ring\", "
                            "\"complete\"]\n");
    done({"run", "sweep.toml"});
  }
};

}  // namespace

TEST_CASE("a report claims theory's bound of plain exchanges, and none of packed ones") {
  for (const char* kind : {"kind = \"ad-psgd\"\n", "kind = \"a2cid2\"\n"})
    CHECK_THAT(page_of(kind), ContainsSubstring("the consensus distance is at most"));
  for (const char* packed : {"kind = \"ad-psgd\"\ncodec = { kind = \"top-k\", share = 0.05 }\n",
                             "kind = \"a2cid2\"\ncodec = \"sign\"\n"}) {
    INFO(packed);
    const std::string page = page_of(packed);
    CHECK_THAT(page, ContainsSubstring("Consensus distance"));
    CHECK_THAT(page, !ContainsSubstring("at most"));
    CHECK_THAT(page, !ContainsSubstring("gossip alone"));
  }
}

TEST_CASE("compare, report, figure, export and list take the runs for which a condition holds") {
  const Sweep sweep;
  const auto listed = [&](std::vector<std::string> where) {
    where.insert(where.begin(), {"list", "--json"});
    return sweep.call(where).json()["runs"].size();
  };
  CHECK(listed({}) == 20);  // with both graphs, but for ar-sgd
  CHECK(listed({"--where", "topology.kind = ring"}) == 12);
  CHECK(listed({"--where", "topology.kind=ring", "--where", "workers.count=4"}) == 6);
  CHECK(listed({"--where", "workers > 2 AND algorithm.kind != ar-sgd"}) == 8);
  CHECK(listed({"--where", "workers.count = 5"}) == 0);

  const std::vector<std::string> one{"--where", "topology.kind=ring", "--where", "workers=4"};
  const auto with = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), one.begin(), one.end());
    return sweep.call(arguments);
  };
  const auto compared = with({"compare", "--json"}).json();
  CHECK(compared["groups"].size() == 3);
  CHECK(with({"figure", "-o", "one.svg"}).code == 0);
  CHECK(sweep.has("one.csv"));
  CHECK(with({"figure", "-o", "one.pdf"}).code == 0);  // of the same numbers
  CHECK(with({"figure", "--chart", "curve", "-o", "curve.svg", "--where", "seed=1"}).code == 0);
  CHECK_THAT(sweep.read("curve.csv"), ContainsSubstring(",,\n"));  // one seed has no interval
  sweep.write("mine.csv", "of the user");
  check_refused(with({"figure", "-o", "mine.svg"}), {"would replace mine.csv", "another file"});
  CHECK(sweep.read("mine.csv") == "of the user");
  CHECK(with({"report", "--html", "-o", "one.html"}).code == 0);
  CHECK_THAT(sweep.read("one.html"), !ContainsSubstring("overview-chart"));
  const auto wide = with({"export", "sweep", "small", "--wide"});
  CHECK(wide.code == 2);  // no experiment is called "sweep"
  const std::string csv = with({"export", "small", "--wide"}).out;
  const std::string all = sweep.call({"export", "small", "--wide"}).out;
  CHECK(csv.size() < all.size() / 2);
  CHECK_THAT(csv, ContainsSubstring("a2cid2"));
}

TEST_CASE("a condition that no run meets, or that is none, is the user's error everywhere") {
  const Sweep sweep;
  for (std::vector<std::string> command : {std::vector<std::string>{"compare"},
                                           {"compare", "--only-changed"},
                                           {"report", "--html"},
                                           {"figure"},
                                           {"export", "small"},
                                           {"export", "small", "--crate", "crate.zip"}}) {
    INFO(command.front());
    for (const auto& [where, said] :
         {std::pair{"workers.count=5", "none of the 20 runs has workers.count=5: "},
          std::pair{"workers.cuont=4", "did you mean 'workers.count'?"},
          std::pair{"workers.count >", "cannot filter runs by 'workers.count >'"},
          std::pair{"1; DROP TABLE runs", "more than one statement"}}) {
      std::vector<std::string> arguments = command;
      arguments.insert(arguments.end(), {"--where", where});
      const Result refused = sweep.call(arguments);
      CHECK(refused.code == 2);
      CHECK_THAT(refused.err, ContainsSubstring(said));
      CHECK(refused.out.empty());
    }
  }
  CHECK_FALSE(sweep.has("acid-report.html"));
  CHECK_FALSE(sweep.has("crate.zip"));
}

}  // namespace acid::test

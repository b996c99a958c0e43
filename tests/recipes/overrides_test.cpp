#include "tests/catch.hpp"
#include "tests/recipes/recipe.hpp"

namespace acid::test {
namespace {

nlohmann::json settings(const std::vector<std::string>& overrides, const std::string& text = "") {
  return compiled(text, overrides).runs.at(0).settings;
}

Diagnostic only_error(const std::string& override, const std::string& text = "") {
  const auto errors = errors_of(completed(text), {override});
  REQUIRE(errors.size() == 1);
  CHECK(errors[0].file == "--set");
  CHECK(errors[0].line == 0);
  CHECK(errors[0].source_line == override);
  CHECK_FALSE(errors[0].remedy.empty());
  return errors[0];
}

}  // namespace

TEST_CASE("names of experiments that no command could find are refused") {
  for (const char* const name : {"@latest", "tag:x", "-x"})
    CHECK_THAT(only_error(std::string("name=") + name).message,
               ContainsSubstring(std::string("called '") + name));
}

TEST_CASE("the option --set changes any key, quoted or not, present or not") {
  CHECK(settings({"optimizer.learning_rate=0.1"})["optimizer"]["learning_rate"] == 0.1);
  CHECK(settings({"workers.count = 7"})["workers"]["count"] == 7);
  CHECK(settings({"topology.kind=star"})["topology"]["kind"] == "star");
  CHECK(settings({"topology.kind=\"star\""})["topology"]["kind"] == "star");
  CHECK(settings({"optimizer.nesterov=true", "optimizer.momentum=0.9"})["optimizer"]["nesterov"] ==
        true);
  CHECK(settings({"execution.virtual.slow_workers={0=4.0}"})["execution"]["virtual"]["slow_workers"]
                                                            ["0"] == 4.0);
  CHECK(settings({"workers.count=3", "workers.count=5"})["workers"]["count"] == 5);
  CHECK(compiled("", {"seeds=[4,5]"}).runs.size() == 2);
  CHECK(compiled("", {"name=mine"}).name == "mine");
  CHECK(compiled("", {"name=mine"}).overrides == std::vector<std::string>{"name=mine"});
}

TEST_CASE("the option --set reaches through bare names and into lists") {
  CHECK(settings({"task.dataset.noise=0.01"})["task"]["dataset"]["noise"] == 0.01);
  CHECK(settings({"algorithms.0.communication_rate=2"})["algorithm"]["communication_rate"] == 2.0);
}

TEST_CASE("the option --set of a kind or a budget replaces what it excludes") {
  const std::string text =
      "[topology]\nkind = \"random-regular\"\ndegree = 3\n"
      "[budget]\nepochs = 2\n";
  CHECK(settings({"topology.kind=star"}, text)["topology"]["kind"] == "star");
  CHECK(settings({"topology=star"}, text)["topology"]["kind"] == "star");
  CHECK(settings({"budget.gradients=50"}, text)["budget"]["gradients"] == 50);
}

TEST_CASE("an equal --set gives the digest of the written value") {
  CHECK(compiled("", {"optimizer.learning_rate=0.1"}).runs[0].digest ==
        compiled("[optimizer]\nlearning_rate = 0.1\n").runs[0].digest);
}

TEST_CASE("numbers of seconds and of bytes per second may have units, and are the same numbers") {
  const std::string network = "[execution.virtual.network]\n";
  const std::string plain =
      network + "latency_seconds = 9e-3\nbandwidth_bytes_per_second = 3.125e9\n";
  CHECK(digest(network + "latency_seconds = \"9 ms\"\nbandwidth_bytes_per_second = "
                         "\"25 Gbit/s\"\n") == digest(plain));
  const std::string key = "execution.virtual.network.bandwidth_bytes_per_second";
  CHECK(compiled(plain, {key + "=25 Gbit/s"}).runs[0].digest == digest(plain));
  CHECK(compiled("[sweep]\n" + key + " = [\"8 Gbit/s\", 2e9]\n").runs[0].digest ==
        digest(network + "bandwidth_bytes_per_second = 1e9\n"));
  const Diagnostic gbps = only_error(key + "=25 Gbps");
  CHECK_THAT(gbps.message, ContainsSubstring("is no number with a unit: '25 Gbps'"));
  CHECK_THAT(gbps.remedy,
             ContainsSubstring("in bytes per second without quotes, or one with B/s") &&
                 ContainsSubstring("as in \"25 Gbit/s\""));
  CHECK_THAT(only_error(key + "=-1 B/s").message, ContainsSubstring("must be above 0, not -1"));
  CHECK_THAT(only_error(key + "=inf").message, ContainsSubstring("must be finite, not inf"));
  CHECK_THAT(only_error("optimizer.learning_rate=1 ms").message,
             ContainsSubstring("must be a number, not the text"));
}

TEST_CASE("a key without the tables around it is not known, but told") {
  const std::string whole = "did you mean 'execution.virtual.network.bandwidth_bytes_per_second'?";
  CHECK(only_error("network.bandwidth=1e9").remedy == whole);
  CHECK(only_error("network.bandwidth=1e9").message == "unknown key 'network'");
  const auto swept = errors_of(completed("[sweep]\nnetwork.bandwidth = [1e8, 1e9]\n"));
  REQUIRE(swept.size() == 1);
  CHECK(swept[0].remedy == whole);
}

TEST_CASE("mistakes in --set are shown in its text, the value underlined") {
  // The recipe has a list of its own in the same place.
  const std::string step =
      "[optimizer.schedule]\nkind = \"step\"\nmilestones = { gradients = [10, 20] }\n";
  for (const char* list : {"[40,9000]", "[40,30]"}) {
    const Diagnostic late =
        only_error(std::string("optimizer.schedule.milestones.gradients=") + list, step);
    CHECK(late.column == 41);
  }
  const Diagnostic type = only_error("optimizer.learning_rate=fast");
  CHECK(type.column == 25);
  CHECK(type.length == 4);
  CHECK_THAT(type.message, ContainsSubstring("not the text \"fast\""));
  const Diagnostic key = only_error("optimizer.learning_rat=1");
  CHECK(key.column == 1);
  CHECK(key.length == 22);
  CHECK_THAT(key.remedy, ContainsSubstring("learning_rate"));
  CHECK_THAT(only_error("optimiser.momentum=1").message, ContainsSubstring("optimiser"));
  CHECK_THAT(only_error("algorithms.3.eta=1").message, ContainsSubstring("leads nowhere"));
  CHECK_THAT(only_error("workers.count.x=1").message, ContainsSubstring("leads nowhere"));
  CHECK_THAT(only_error("workers..count=1").message, ContainsSubstring("not a dotted key"));
  CHECK_THAT(only_error("nonsense").message, ContainsSubstring("KEY=VALUE"));
  CHECK_THAT(only_error("=1").message, ContainsSubstring("KEY=VALUE"));
  CHECK_THAT(only_error("name=\xff").message, ContainsSubstring("KEY=VALUE"));
  CHECK_THAT(only_error("workers.count=1\nname = 2").message,
             ContainsSubstring("must be a whole number"));
}

TEST_CASE("a --set that every run overrides is doubted, and one that some run has is not") {
  const auto doubts = [](const std::string& recipe, const std::string& override) {
    std::string found;
    for (const Diagnostic& warning : compiled(recipe, {override}).warnings)
      if (warning.file == "--set") found += warning.message + "; " + warning.remedy;
    return found;
  };
  const std::string swept = "[sweep]\noptimizer.learning_rate = [0.1, 0.2]\n";
  const std::string set = "kind = \"ad-psgd\"\nset = { optimizer.learning_rate = 0.3 }\n";
  const std::string rate = "optimizer.learning_rate=0.7";
  CHECK_THAT(doubts(swept, rate), ContainsSubstring("every run has it from [sweep]"));
  CHECK_THAT(doubts(swept, rate), ContainsSubstring("--set sweep.optimizer.learning_rate=["));
  CHECK_THAT(doubts("[[algorithms]]\n" + set, rate), ContainsSubstring("has no effect"));
  CHECK(doubts("[[algorithms]]\n" + set + "[[algorithms]]\nkind = \"ar-sgd\"\n", rate).empty());
  CHECK(doubts(swept, "sweep.optimizer.learning_rate=[0.7]").empty());
  CHECK_FALSE(doubts(swept, "optimizer={learning_rate=0.7, momentum=0.9}").empty());
  CHECK(doubts(swept, "optimizer.momentum=0.9").empty());
  const auto warnings =
      compiled("[sweep]\ntopology = [\"ring\", \"star\"]\n", {"topology.kind=complete"}).warnings;
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].remedy == "change it there: --set sweep.topology=[…]");
}

TEST_CASE("algorithms are addressed by number, label or kind") {
  const std::string recipe =
      "[[algorithms]]\nkind = \"ar-sgd\"\n[[algorithms]]\nkind = \"ad-psgd\"\n"
      "[[algorithms]]\nkind = \"ad-psgd\"\nlabel = \"twice\"\ncommunication_rate = 2.0\n";
  const auto rates = [&](const std::string& override) {
    std::vector<double> all;
    for (const PlannedRun& run : compiled(recipe, {override}).runs)
      if (run.algorithm == "ad-psgd")
        all.push_back(run.settings["algorithm"]["communication_rate"]);
    return all;
  };
  CHECK(rates("algorithms.1.communication_rate=3") == std::vector<double>{3, 2});
  CHECK(rates("algorithms.twice.communication_rate=3") == std::vector<double>{1, 3});
  CHECK_THROWS_WITH(rates("algorithms.ad-psgd.communication_rate=3"),
                    ContainsSubstring("0 ar-sgd, 1 ad-psgd, 2 ad-psgd"));
  CHECK_THROWS_WITH(rates("algorithms.a2cid2.communication_rate=3"),
                    ContainsSubstring("leads nowhere"));
  CHECK(compiled(recipe, {"algorithms.ar-sgd.label=DDP"}).runs.at(0).label == "DDP");
}

TEST_CASE("two algorithms are not called alike, nor one as another method") {
  const auto two = [](const std::string& first, const std::string& second) {
    return "[[algorithms]]\nkind = \"ad-psgd\"\n" + first +
           "\n[[algorithms]]\nkind = \"a2cid2\"\n" + second + "\n";
  };
  CHECK(first_error_of(two("label = \"a\"", "label = \"b\"")).empty());
  CHECK(first_error_of(two("label = \"AD-PSGD\"", "")).empty());
  only_error_of(two("label = \"a\"", "label = \"a\""), 6);
  CHECK_THAT(only_error_of(two("", "label = \"AR-SGD\"")).message,
             ContainsSubstring("another method"));
  only_error_of(two("", "label = \"ad-psgd\""));
}

TEST_CASE("a batch is no larger than what a worker has") {
  const std::string task = "[task]\ndataset = { kind = \"logistic\", train = 400, test = 40 }\n";
  CHECK(first_error_of(task + "batch_size = 400").empty());
  CHECK(first_error_of(task + "batch_size = 100\npartition = \"iid\"").empty());
  CHECK_THAT(only_error_of(task + "batch_size = 101\npartition = \"iid\"").message,
             ContainsSubstring("more than a worker has: 100"));
  only_error_of(task + "batch_size = 401");
}

TEST_CASE("how different Dirichlet shares are has no default, and never exchanging is doubtful") {
  CHECK(errors_of(completed("[task]\ndataset = \"glyphs\"\nmodel = \"linear\"\n"
                            "partition = \"dirichlet\"\n"))
            .size() == 1);
  const auto warnings = [](const char* workers) {
    return compiled(std::string("[[algorithms]]\nkind = \"ad-psgd\"\ncommunication_rate = 0.0\n") +
                    "[workers]\ncount = " + workers + "\n")
        .warnings;
  };
  REQUIRE_FALSE(warnings("4").empty());
  CHECK_THAT(warnings("4")[0].message, ContainsSubstring("never exchange"));
}

}  // namespace acid::test

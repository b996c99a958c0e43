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

TEST_CASE("mistakes in --set are shown in its text, the value underlined") {
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

}  // namespace acid::test

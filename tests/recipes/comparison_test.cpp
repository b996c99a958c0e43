// What a recipe's [comparison] may say, and what it leaves alone.
#include <fmt/format.h>

#include "tests/catch.hpp"
#include "tests/recipes/recipe.hpp"

namespace acid::test {
namespace {

constexpr const char* kTwo =
    "[[algorithms]]\nkind = \"ar-sgd\"\n[[algorithms]]\nkind = \"ad-psgd\"\n";

}  // namespace

TEST_CASE("a comparison says how runs are compared, and no run depends on it") {
  const std::string rest = std::string("[task]\ndataset = \"quadratic\"\n") + kTwo;
  const Plan plain = compiled(rest);
  const Plan plan = compiled(
      "[comparison]\nprimary = \"train_loss_at_mean\"\nconsensus_baseline = \"AD-PSGD\"\n"
      "margin = { eval_loss = \"2 %\", train_loss_at_mean = 0.01 }\n" +
      rest);
  REQUIRE(plan.runs.size() == plain.runs.size());
  for (std::size_t k = 0; k < plan.runs.size(); ++k) {
    CHECK(plan.runs[k].digest == plain.runs[k].digest);
    CHECK(plan.runs[k].settings == plain.runs[k].settings);
  }
  CHECK(plain.comparison.is_null());
  CHECK(plan.comparison ==
        nlohmann::json::parse(R"({"primary": "train_loss_at_mean", "consensus_baseline": "AD-PSGD",
          "margins": {"eval_loss": {"value": 0.02, "relative": true},
                      "train_loss_at_mean": {"value": 0.01, "relative": false}}})"));
  CHECK(to_json(plan)["comparison"] == plan.comparison);
  CHECK(compiled(rest + "[comparison]\n").comparison.is_null());
}

TEST_CASE("an outcome that a run does not have is refused, with one that it has") {
  const std::string quadratic = "[task]\ndataset = \"quadratic\"\n";
  const auto with = [&](const std::string& primary, const std::string& more = {}) {
    return first_error_of(
        fmt::format("[comparison]\nprimary = \"{}\"\n{}{}", primary, quadratic, more));
  };
  CHECK(with("eval_loss").empty());
  CHECK(with("eval_accuracy") ==
        "the primary outcome cannot be eval_accuracy: the task has no accuracy");
  CHECK(with("gradients_to_target") ==
        "the primary outcome cannot be gradients_to_target: 'gradients_to_target' needs a target");
  const std::string target =
      "[budget]\ngradients = 80\ntarget = { metric = \"eval_loss\", value = 0.1 }\n";
  CHECK(with("gradients_to_target", target).empty());
  CHECK(with("eval_loss", target) ==
        "the primary outcome cannot be eval_loss: runs stop where eval_loss reaches budget.target, "
        "so that its last value is the target's");
  CHECK(with("eval_loss", "[record]\nmetrics = [\"consensus_distance\"]\n") ==
        "the primary outcome cannot be eval_loss: record.metrics leaves out eval_loss");
  CHECK(with("consensus_distance_mid", "[record]\nmetrics = [\"consensus_distance\"]\n").empty());
  CHECK(
      with("eval_loss",
           "[budget]\nnormalised_time = 20\n[execution.virtual]\ngradient_clock = "
           "\"none\"\n[[algorithms]]\nkind = \"ad-psgd\"\n")
          .starts_with("the primary outcome cannot be eval_loss: exchanges alone change no loss"));
}

TEST_CASE("what a target or a search reads is recorded") {
  const std::string rest =
      std::string("[task]\ndataset = \"quadratic\"\n[record]\nmetrics = [\"{}\"]\n") + kTwo;
  const auto with = [&](const std::string& more, const std::string& recorded) {
    return first_error_of(more + fmt::format(fmt::runtime(rest), recorded));
  };
  const std::string target =
      "[budget]\ngradients = 80\ntarget = { metric = \"eval_loss\", value = 0.1 }\n";
  CHECK(with(target, "consensus_distance") == "record.metrics leaves out eval_loss");
  CHECK(with(target, "eval_loss").empty());
  const std::string search = "[search]\nseeds = [101]\noptimizer.learning_rate = [0.1, 0.2]\n";
  CHECK(with(search, "consensus_distance") ==
        "the search chooses by eval_loss, which record.metrics leaves out");
  CHECK(with(search, "eval_loss").empty());
}

TEST_CASE("consensus distances compare with those of workers that differ") {
  const std::string all = std::string("[task]\ndataset = \"quadratic\"\n") + kTwo;
  const auto with = [&](const std::string& name) {
    return first_error_of(fmt::format("[comparison]\nconsensus_baseline = \"{}\"\n{}", name, all));
  };
  CHECK(with("ad-psgd").empty());
  CHECK(with("AR-SGD").starts_with("the workers of AR-SGD always agree"));
  CHECK(with("ad-psdg") == "unknown algorithm 'ad-psdg' in comparison.consensus_baseline");
}

TEST_CASE("what is wrong in a comparison is told at its place") {
  const auto told = [](const std::string& line) {
    return only_error_of("[comparison]\n" + line + "\n", 2).message;
  };
  CHECK(only_error_of("comparison = 3\n", 1).message.starts_with("comparison must be a table"));
  CHECK(told("primray = \"eval_loss\"") == "unknown key 'primray' in comparison");
  CHECK(told("primary = 1").starts_with("comparison.primary must be a name in quotes"));
  CHECK(told("primary = \"eval_los\"") == "unknown outcome 'eval_los'");
  CHECK(only_error_of("[comparison]\nprimary = \"eval_los\"\n", 2).remedy ==
        "did you mean 'eval_loss'?");
  CHECK(told("margin = 0.1").starts_with("comparison.margin must be a table"));
  CHECK(told("margin = { loss = 0.1 }") == "unknown outcome 'loss'");
  for (const char* value : {"0", "-0.1", "\"small\"", "\"0 %\"", "\"%\"", "\"1.2.3 %\"", "inf"})
    CHECK(told(std::string("margin = { eval_loss = ") + value + " }")
              .starts_with("a margin must be above 0, or a percentage in quotes, not "));
  for (const char* value : {"eval_accuracy = 1", "eval_accuracy = 50", "eval_loss = \"100 %\""})
    CHECK(told(std::string("margin = { ") + value + " }").find(" decides nothing: ") !=
          std::string::npos);
  CHECK(compiled("[comparison]\nmargin = { eval_loss = 1.5 }\n")
            .comparison["margins"]["eval_loss"]["value"] == 1.5);
  CHECK(told("primary = \"train_loss\"")
            .starts_with("the primary outcome cannot be train_loss: it describes a run"));
  const std::string quadratic = std::string("[task]\ndataset = \"quadratic\"\n") + kTwo;
  CHECK(only_error_of("[comparison]\nprimary = \"eval_acuracy\"\n" + quadratic, 2).remedy ==
        "known: eval_loss, train_loss_at_mean or consensus_distance_mid");  // what the task has
  CHECK(compiled("[comparison]\nmargin = { eval_loss = \"0.5%\" }\n")
            .comparison["margins"]["eval_loss"]["value"] == 0.005);
}

}  // namespace acid::test

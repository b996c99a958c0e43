// A note that changes the meaning of a number is in every form that has the number.
#include "reports/notes.hpp"

#include <algorithm>
#include <set>
#include <sstream>

#include "reports/forms.hpp"
#include "reports/html/markup.hpp"
#include "reports/html/sections.hpp"
#include "reports/latex.hpp"
#include "tests/catch.hpp"
#include "tests/reports/synthetic.hpp"

using namespace acid;
using nlohmann::json;
using synthetic::has;
using synthetic::page_of;
using synthetic::run;

namespace {

using Runs = std::vector<ComparedRun>;

/// A comparison with notes, and the metric that its pivots show.
struct Scenario {
  const char* name;
  Comparison comparison;
  std::string metric = "eval_loss";
};

double luck(std::uint64_t seed) { return 0.01 * static_cast<double>(seed * seed % 7); }

/// So many seeds of these algorithms; all but ar-sgd are a little better.
Runs runs_of(const std::vector<std::string>& algorithms, std::uint64_t seeds,
             const json& settings = {}) {
  Runs runs;
  for (const std::string& algorithm : algorithms)
    for (std::uint64_t seed = 1; seed <= seeds; ++seed)
      runs.push_back(run(algorithm, seed,
                         {{"eval_loss", (algorithm == "ar-sgd" ? 0.5 : 0.4) + luck(seed)}},
                         settings));
  return runs;
}

/// Rates of two algorithms, chosen on the seeds that are compared or on seed 1.
Comparison searched(bool same_seeds, bool unequal) {
  Runs runs;
  for (const std::string algorithm : {"ar-sgd", "ad-psgd"})
    for (const double rate : {0.1, 0.2, 0.4}) {
      if (unequal && algorithm == "ad-psgd" && rate == 0.4) continue;
      for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        runs.push_back(
            run(algorithm, seed, {{"eval_loss", 0.5 - rate + luck(seed)}},
                {{"optimizer", {{"learning_rate", rate}}}, {"task", {{"batch_size", 8}}}}));
        if (unequal && algorithm == "ad-psgd") runs.back().summary.state = RunState::diverged;
      }
    }
  CompareOptions options;
  options.best_over = {"optimizer.learning_rate"};
  options.same_seeds = same_seeds;
  if (!same_seeds) options.selection_seeds = {1};
  return compare_runs(runs, options);
}

Comparison shared_over_graphs() {
  Runs runs = runs_of({"ar-sgd"}, 3, {{"topology", nullptr}});
  for (const char* graph : {"ring", "complete"})
    for (ComparedRun& one : runs_of({"ad-psgd"}, 3, {{"topology", {{"kind", graph}}}}))
      runs.push_back(std::move(one));
  return compare_runs(runs);
}

Comparison with_losses() {
  Runs runs = runs_of({"ar-sgd", "ad-psgd", "a2cid2"}, 8);
  for (ComparedRun& one : runs) {
    if (one.summary.algorithm == "ad-psgd" && one.summary.seed == 3)
      one.summary.state = RunState::diverged;
    if (one.summary.algorithm == "a2cid2" && one.summary.seed == 5)
      one.summary.state = RunState::interrupted;
  }
  return compare_runs(runs);
}

Comparison read_between_samples() {
  Runs runs = runs_of({"ar-sgd", "ad-psgd"}, 4);
  for (ComparedRun& one : runs) one.readings["eval_loss"] = {2, 0.05};
  const auto lacks = [&](std::size_t k, std::optional<double> apart) {
    runs[k].summary.metrics.clear();
    runs[k].not_read["eval_loss"] = apart;
  };
  lacks(0, 30);
  lacks(1, std::nullopt);
  runs[2].summary.metrics.clear();
  runs[2].ended_before = true;
  CompareOptions options;
  options.at = parse_read_at("seconds=60");
  return compare_runs(runs, options);
}

Comparison with_gaps() {
  Runs runs = runs_of({"ar-sgd", "ad-psgd"}, 3);
  for (ComparedRun& one : runs) one.summary.metrics["eval_accuracy"] = 0.5 + luck(one.summary.seed);
  runs[4].summary.metrics.erase("eval_loss");
  runs[3].summary.budget_gradients = 100;
  runs[3].summary.progress.gradients = 0;
  runs.push_back(run("ad-psgd", 9, {{"eval_loss", 0.4}}));
  return compare_runs(runs);
}

Comparison at_other_rates() {
  Runs runs = runs_of({"ar-sgd"}, 3, {{"workers", {{"count", 8}}}});
  double rate = 1;
  for (const char* algorithm : {"ad-psgd", "a2cid2"}) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      runs.push_back(run(algorithm, seed, {{"eval_loss", 0.4 + luck(seed)}},
                         {{"workers", {{"count", 8}}},
                          {"algorithm", {{"kind", algorithm}, {"communication_rate", rate}}}}));
      runs.back().realised_rate = 0.7 * rate;
      runs.back().summary.progress.gradients = 100'000;
    }
    rate *= 2;
  }
  return compare_runs(runs);
}

Comparison with_target() {
  Runs runs = runs_of({"ar-sgd", "ad-psgd", "a2cid2"}, 4);
  for (ComparedRun& one : runs) {
    if (one.summary.algorithm == "a2cid2" ||
        (one.summary.algorithm == "ad-psgd" && one.summary.seed == 2))
      continue;
    one.summary.metrics["gradients_to_target"] = 100 + luck(one.summary.seed);
    one.summary.metrics["time_to_target"] = 10 + luck(one.summary.seed);
  }
  CompareOptions options;
  options.target = Target{"eval_loss", 0.45};
  return compare_runs(runs, options);
}

Comparison with_other_settings() {
  Runs runs = runs_of({"ar-sgd"}, 3, {{"optimizer", {{"learning_rate", 0.1}}}});
  for (ComparedRun& one : runs_of({"ad-psgd"}, 3, {{"optimizer", {{"learning_rate", 0.2}}}}))
    runs.push_back(std::move(one));
  return compare_runs(runs);
}

Comparison of_metric(const std::string& metric) {
  Runs runs = runs_of({"ar-sgd", "ad-psgd"}, 3);
  for (ComparedRun& one : runs) one.summary.metrics[metric] = luck(one.summary.seed);
  CompareOptions options;
  options.metrics = {metric};
  return compare_runs(runs, options);
}

/// Of two algorithms the second counts the messages of a large model.
Comparison stand_ins() {
  const json large{{"network", {{"vector_bytes", 260'000'000}}}};
  const json execution{{"driver", "virtual"}, {"virtual", large}};
  Runs runs = runs_of({"ar-sgd"}, 3);
  std::ranges::move(runs_of({"ad-psgd"}, 3, {{"execution", execution}}), std::back_inserter(runs));
  for (ComparedRun& one : runs) one.summary.metrics["bytes_sent"] = 1e9;
  CompareOptions options;
  options.metrics = {"bytes_sent"};
  return compare_runs(runs, options);
}

/// Experiments of which only the first has a margin.
Comparison asked_for_otherwise() {
  ComparisonPlan plan;
  plan.margins["eval_loss"] = {0.2, false};
  return compare_runs(runs_of({"ar-sgd", "ad-psgd"}, 3), {}, {}, {plan, {}});
}

Comparison of_another_outcome() {
  ComparisonPlan plan;
  plan.primary = "train_loss_at_mean";
  plan.left_out = {{"AD-PSGD", {{"topology.kind", "epidemic"}}, "ad-psgd draws pairs instead"}};
  CompareOptions options;
  options.metrics = {"eval_loss"};
  return compare_runs(runs_of({"ar-sgd", "ad-psgd"}, 3), options, {}, {plan});
}

/// Changed when runs had ended, and read on lines that are off by more than the difference.
Comparison chosen_again_and_hidden() {
  ComparisonPlan plan;
  plan.primary = "eval_loss";
  plan.before = "primary outcome the task's";
  Runs runs = runs_of({"ar-sgd", "ad-psgd"}, 6);
  for (ComparedRun& one : runs) one.readings["eval_loss"] = {2, 0.05, 0.2};
  return compare_runs(runs, {}, {}, {plan});
}

/// Losses that differ by rounding, and consensus distances.
Comparison with_rounding() {
  Runs runs = runs_of({"ad-psgd", "a2cid2"}, 6);
  for (ComparedRun& one : runs) {
    const double apart = one.summary.algorithm == "a2cid2" ? 1e-9 : 0;
    one.summary.metrics = {{"eval_loss", 0.5 + apart},
                           {"consensus_distance_mid", 1 + luck(one.summary.seed) + 100 * apart}};
    one.summary.workers = 4;
    one.summary.progress.gradients = 4000;
  }
  return compare_runs(runs);
}

/// Two algorithms that stop at targets of their own.
Comparison stopped_apart() {
  Runs runs;
  for (const auto& [algorithm, target] : {std::pair("ar-sgd", 0.5), std::pair("ad-psgd", 0.4)})
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      const json settings{{"budget", {{"target", {{"metric", "eval_loss"}, {"value", target}}}}}};
      runs.push_back(
          run(algorithm, seed,
              {{"eval_loss", target}, {"gradients_to_target", 9}, {kMidConsensus, 1 + luck(seed)}},
              settings));
      runs.back().mid = MidSpan{PositionAxis::gradients, 2, 5, true};
    }
  return compare_runs(runs);
}

std::vector<Scenario> scenarios() {
  return {{"chosen on the same seeds and the test set", searched(true, false)},
          {"unequal searches", searched(false, true)},
          {"no baseline", compare_runs(runs_of({"d-psgd", "ad-psgd"}, 3))},
          {"shared runs", shared_over_graphs()},
          {"diverged and unfinished", with_losses()},
          {"between samples", read_between_samples()},
          {"missing values and other seeds", with_gaps()},
          {"other rates", at_other_rates()},
          {"a target", with_target(), "gradients_to_target"},
          {"targets that differ", stopped_apart(), "gradients_to_target"},
          {"the middle of the shortest", stopped_apart(), kMidConsensus},
          {"other settings", with_other_settings()},
          {"mean heights", of_metric("auc_eval_loss"), "auc_eval_loss"},
          {"losses of workers", of_metric("train_loss"), "train_loss"},
          {"models that stand for larger ones", stand_ins(), "bytes_sent"},
          {"recipes that differ", asked_for_otherwise()},
          {"another outcome than the recipe's, and a cell left out", of_another_outcome()},
          {"chosen again, and hidden", chosen_again_and_hidden()},
          {"rounding and consensus", with_rounding()}};
}

/// Text with one blank in place of a line break or indentation.
std::string unwrapped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const bool blank = c == ' ' || c == '\n';
    if (!blank || (!out.empty() && out.back() != ' ')) out += blank ? ' ' : c;
  }
  return out;
}

/// The text that LaTeX prints.
std::string without_comments(const std::string& text) {
  std::istringstream lines(text);
  std::string out;
  for (std::string line; std::getline(lines, line);)
    if (!line.starts_with("%")) out += line + "\n";
  return out;
}

std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields{""};
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') quoted = !quoted;
    if (c == ',' && !quoted)
      fields.emplace_back();
    else
      fields.back() += c;
  }
  return fields;
}

/// Kinds in columns called notes.
std::set<std::string> kinds_in_csv(const std::string& text) {
  std::istringstream lines(text);
  std::string line;
  std::getline(lines, line);
  const std::vector<std::string> header = fields_of(line);
  std::set<std::string> kinds;
  while (std::getline(lines, line)) {
    const std::vector<std::string> fields = fields_of(line);
    REQUIRE(fields.size() == header.size());
    for (std::size_t k = 0; k < fields.size(); ++k) {
      std::istringstream words(header[k].ends_with("notes") ? fields[k] : "");
      for (std::string word; words >> word;) kinds.insert(word);
    }
  }
  return kinds;
}

/// Whether a form's output has the note, in a readable place.
bool says(std::string_view option, const std::string& printed, const ComparedNote& note) {
  const std::string name(entry_of(note.kind).name);
  if (option == "csv") return kinds_in_csv(printed).contains(name);
  if (option == "json") {
    const json document = json::parse(printed);
    const bool told =
        std::ranges::find(document["notes"], json(note.text)) != document["notes"].end();
    return told && std::ranges::any_of(document["caveats"], [&](const json& one) {
             return one["kind"] == name && one["text"] == note.text;
           });
  }
  // Notes on their metric need not be repeated beside the numbers.
  const std::string text =
      note.kind == NoteKind::resolution ? note.text.substr(note.text.find("known to")) : note.text;
  if (option == "latex") return has(unwrapped(without_comments(printed)), latex_text(text));
  return has(unwrapped(printed), unwrapped(text));
}

}  // namespace

TEST_CASE("every kind of note stands in every form that has a number it is about") {
  std::set<std::string_view> seen, seen_in_pivots;
  for (const Scenario& scenario : scenarios()) {
    const Comparison& comparison = scenario.comparison;
    const FormRequest request{.metrics = {scenario.metric}, .keys = {}, .command = "details"};
    const std::string page = verdict_section(page_of(comparison));
    for (const ComparedNote& note : comparison.notes) {
      const NoteKindEntry& entry = entry_of(note.kind);
      INFO(scenario.name << ": " << entry.name << ": " << note.text);
      seen.insert(entry.name);
      CHECK(has(page, escaped(note.text)));
      for (const ComparisonForm& form : comparison_forms()) {
        const bool pivot = form.shape == ComparisonForm::Shape::pivot;
        const bool of_metric =
            note.metrics.empty() ||
            std::ranges::find(note.metrics, scenario.metric) != note.metrics.end();
        if (pivot && (entry.of_differences || !of_metric)) continue;
        if (pivot) seen_in_pivots.insert(entry.name);
        const std::string printed = form.print(comparison, request);
        INFO((pivot ? "--pivot --" : "--") << form.option << "\n" << printed);
        CHECK(says(form.option, printed, note));
      }
    }
  }
  for (const NoteKindEntry& entry : kNoteKinds) {
    INFO(entry.name);
    CHECK(seen.contains(entry.name));
    CHECK((entry.of_differences || seen_in_pivots.contains(entry.name)));
  }
}

TEST_CASE("a row of a CSV has the notes on its group and metric, and no others") {
  const Comparison comparison = with_losses();
  const auto names = [&](std::size_t group, const char* metric) {
    return note_names(comparison, comparison.groups[group].group, metric);
  };
  const auto is_in = [](const std::vector<std::string_view>& all, std::string_view name) {
    return std::ranges::find(all, name) != all.end();
  };
  CHECK_FALSE(is_in(names(0, "eval_loss"), "diverged"));
  CHECK(is_in(names(1, "eval_loss"), "diverged"));
  CHECK(is_in(names(1, "eval_loss"), "survivors"));
  CHECK_FALSE(is_in(names(0, "eval_loss"), "tests"));  // the baseline has no difference
  CHECK(is_in(names(2, "eval_loss"), "unfinished"));
  const Comparison read = with_target();
  CHECK(std::ranges::count(note_names(read, read.groups[0].group, "eval_loss"), "target_line") ==
        0);
}

TEST_CASE("notes of a kind on many settings are one in tables, and each stands in its setting") {
  Runs runs;
  for (int workers = 4; workers <= 20; workers += 4)
    for (ComparedRun& one :
         runs_of({"ar-sgd", "ad-psgd"}, 6, {{"workers", {{"count", workers}}}})) {
      if (one.summary.algorithm == "ad-psgd" && one.summary.seed == 2)
        one.summary.state = RunState::diverged;
      runs.push_back(std::move(one));
    }
  const Comparison comparison = compare_runs(runs);
  REQUIRE(comparison.points.size() == 5);
  const std::string sum =
      "runs diverged, which are in no mean and worse than every other in tests: ad-psgd at 5 "
      "settings";
  const FormRequest request{.metrics = {}, .keys = {}, .command = "details"};
  for (const auto& [shape, option] : {std::pair(ComparisonForm::Shape::whole, ""),
                                      {ComparisonForm::Shape::whole, "latex"},
                                      {ComparisonForm::Shape::pivot, ""},
                                      {ComparisonForm::Shape::pivot, "markdown"},
                                      {ComparisonForm::Shape::pivot, "latex"}}) {
    const std::string printed = form_of(shape, option).print(comparison, request);
    INFO(printed);
    CHECK(has(unwrapped(without_comments(printed)), sum));
  }
  ReportData data = page_of(comparison);
  const auto groups = comparison.groups.size();
  data.curves.resize(groups);
  data.gradients_per_epoch.resize(groups);
  data.networks.resize(groups);
  data.spans.resize(groups);
  const std::string one = verdict_section(one_setting(data, 2));
  CHECK(has(one, "ad-psgd at workers.count = 12: 1 of 6 runs diverged"));
  CHECK_FALSE(has(one, "workers.count = 8: 1 of 6"));
  CHECK(has(one, "exact two-sided sign-flip test"));
}

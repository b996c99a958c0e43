#include "recipes/comparison_section.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "engine/base/names.hpp"
#include "engine/base/static_text.hpp"
#include "engine/base/utf8.hpp"
#include "engine/methods/method.hpp"
#include "engine/recorder/metrics.hpp"
#include "settings/run_settings.hpp"
#include "settings/schema.hpp"

namespace acid {
namespace {

constexpr StaticText kPrimary =
    StaticText()
        .add("what the verdict is about: ")
        .names(kOutcomes, ", ", ", ")
        .add(" or, with budget.target, ")
        .names(kWaysToTarget, ", ", " or ")
        .add(". Unless said the task decides: with budget.target ")
        .add(kWaysToTarget.front().name)
        .add(", else accuracy where it has one, else the loss; without gradients ")
        .add(kMidConsensus);
constexpr Fields kComparisonKeys = fields<Plan>(
    {key_of<Plan>("primary", FieldType::text, "null", kPrimary.view())
         .said("the name of an outcome", "", "primary = \"eval_loss\""),
     key_of<Plan>("margin", FieldType::table, "{}",
                  "a difference that does not matter, by outcome, in its own unit or as a share of "
                  "the baseline's value: algorithms shown to differ by less are equivalent")
         .said("a table: metric = a number above 0, or a percentage in quotes", "",
               "margin = { eval_accuracy = 0.01, eval_loss = \"2 %\" }"),
     key_of<Plan>("consensus_baseline", FieldType::text, "null",
                  "the algorithm that consensus distances are tested against; else the first of "
                  "pairwise exchanges by rate")
         .said("a label or a method", "", "consensus_baseline = \"AD-PSGD, rate 2\"")});

/// Why runs like this one cannot be compared by the metric, and which metrics they have.
std::optional<Problem> no_outcome(const PlannedRun& run, const std::string& metric) {
  const RunSettings settings = settings_from(run.settings);
  const auto& target = settings.budget.target;
  const bool has_gradients = run.budget_gradients > 0;
  const std::string label = clip(run.label, 40);
  if (is_way_to_target(metric)) {
    if (!target)
      return Problem{fmt::format("'{}' needs a target", metric),
                     "add target = { metric = \"eval_loss\", value = 0.1 } to [budget]"};
    if (metric == kWaysToTarget.front().name && !has_gradients)
      return Problem{fmt::format("the runs of {} compute no gradients", label),
                     "compare by time_to_target"};
    return std::nullopt;
  }
  if (target && target->metric == recorded_for(metric))
    return Problem{fmt::format("runs stop where {} reaches budget.target, so that its last value "
                               "is the target's",
                               recorded_for(metric)),
                   fmt::format("compare by {}", kWaysToTarget[has_gradients ? 0 : 1].name)};
  if (of_accuracy(metric) && !run.has_accuracy())
    return Problem{"the task has no accuracy", "compare by eval_loss"};
  if (metric != kMidConsensus && !has_gradients)
    return Problem{fmt::format("exchanges alone change no loss, and the runs of {} have nothing "
                               "else",
                               label),
                   fmt::format("compare by {}", kMidConsensus)};
  const auto& kept = settings.record.metrics;
  if (kept && !kept->contains(recorded_for(metric)))
    return Problem{fmt::format("record.metrics leaves out {}", recorded_for(metric)),
                   fmt::format("add \"{}\" to record.metrics", recorded_for(metric))};
  return std::nullopt;
}

/// 0.02 of "2 %"; nothing for other texts.
std::optional<double> percentage(std::string text) {
  std::erase(text, ' ');
  if (!text.ends_with('%')) return std::nullopt;
  text.pop_back();
  if (text.empty() || text.find_first_not_of("0123456789.") != std::string::npos)
    return std::nullopt;
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  return *end == '\0' ? std::optional(value / 100) : std::nullopt;
}

/// Why every difference would be within the margin; empty: not so.
std::string too_wide(const std::string& metric, double value, bool relative) {
  if (relative) return value >= 1 ? "a margin as large as the baseline's value shows nothing" : "";
  return of_accuracy(metric) && value >= 1
             ? "accuracies are shares from 0 to 1, of which none differ by more"
             : "";
}

nlohmann::json read_margins(const Node& margins, const Plan& plan, Checker& checker) {
  nlohmann::json read = nlohmann::json::object();
  if (!checker.is_type(&margins, Node::Type::table, "comparison.margin",
                       "a table of metrics, { eval_accuracy = 0.01 }"))
    return read;
  for (const Node& margin : margins.children)
    if (check_outcome(margin.key_place, "the metric of a margin", margin.key, plan, checker))
      if (nlohmann::json value = read_margin(margin, margin.key, checker); !value.is_null())
        read[margin.key] = std::move(value);
  return read;
}

void check_baseline(const Node& baseline, const Plan& plan, Checker& checker) {
  std::vector<std::string> labels;
  const PlannedRun* named = nullptr;
  for (const PlannedRun& run : plan.compared()) {
    if (std::ranges::find(labels, run.label) == labels.end()) labels.push_back(run.label);
    if (run.label == baseline.text() || run.algorithm == baseline.text()) named = &run;
  }
  if (labels.empty() || (named == nullptr && checker.diagnostics().has_errors()))
    return;  // the runs' mistakes are reported already
  if (named == nullptr)
    return checker.unknown(baseline.place, "algorithm", baseline.text(), labels,
                           " in comparison.consensus_baseline");
  if (!always_agrees(*named)) return;
  checker.diagnostics().error(
      baseline.place,
      fmt::format("the workers of {} always agree, so that no consensus distance compares with "
                  "its own, 0",
                  clip(named->label, 40)),
      "name an algorithm whose workers differ");
}

}  // namespace

bool check_outcome(const Place& place, std::string_view what, const std::string& metric,
                   const Plan& plan, Checker& checker) {
  std::vector<std::string> known = names_of(kOutcomes);
  for (const Metric& way : kWaysToTarget) known.emplace_back(way.name);
  if (std::ranges::find(known, metric) == known.end()) {
    std::erase_if(known, [&](const std::string& outcome) {
      return std::ranges::any_of(plan.compared(), [&](const PlannedRun& run) {
        return no_outcome(run, outcome).has_value();
      });
    });
    if (find_metric(metric) == nullptr)
      checker.unknown(place, "outcome", metric, known);
    else
      checker.diagnostics().error(
          place, fmt::format("{} cannot be {}: it describes a run, not its result", what, metric),
          fmt::format("outcomes here: {}", fmt::join(known, ", ")));
    return false;
  }
  std::string_view group;  // of the last run that was checked; one seed of each is enough
  for (const PlannedRun& run : plan.compared()) {
    if (run.group == group) continue;
    group = run.group;
    if (auto problem = no_outcome(run, metric)) {
      checker.diagnostics().error(
          place, fmt::format("{} cannot be {}: {}", what, metric, problem->message),
          problem->remedy);
      return false;
    }
  }
  return true;
}

nlohmann::json read_margin(const Node& margin, const std::string& metric, Checker& checker,
                           bool may_exceed_all) {
  constexpr const char* kRemedy =
      "write a number, as in 0.01, or a share of the baseline's value, as in \"2 %\"";
  const auto share = margin.is_text() ? percentage(margin.text()) : std::nullopt;
  const bool is_number = margin.type == Node::Type::number || margin.type == Node::Type::integer;
  const double value = share ? *share : is_number ? margin.scalar.get<double>() : std::nan("");
  const bool may_be_wide = may_exceed_all && !is_number;
  if (const std::string why = may_be_wide ? "" : too_wide(metric, value, !is_number);
      !why.empty()) {
    checker.diagnostics().error(
        margin.place, fmt::format("a margin of {} decides nothing: {}", describe(margin), why),
        "write the largest difference that does not matter, as in 0.01 for one percentage point of "
        "accuracy, or \"2 %\"");
    return nullptr;
  }
  if (std::isfinite(value) && value > 0) return {{"value", value}, {"relative", !is_number}};
  checker.diagnostics().error(
      margin.place,
      fmt::format("a margin must be above 0, or a percentage in quotes, not {}", describe(margin)),
      kRemedy);
  return nullptr;
}

const FieldTable& comparison_keys() { return kTableOf<kComparisonKeys>; }

bool always_agrees(const PlannedRun& run) {
  const AlgorithmEntry* const entry = find_algorithm(run.algorithm);
  return entry != nullptr &&
         method_of(*entry, settings_from(run.settings).algorithm, nullptr).reduces_gradients;
}

namespace {
nlohmann::json read_table(const Node* comparison, const Plan& plan, Checker& checker) {
  nlohmann::json read = nlohmann::json::object();
  if (comparison == nullptr ||
      !checker.is_type(comparison, Node::Type::table, "comparison", "a table, [comparison]"))
    return read;
  for (const Node& child : comparison->children) {
    if (child.key == "margin") {
      if (nlohmann::json margins = read_margins(child, plan, checker); !margins.empty())
        read["margins"] = std::move(margins);
    } else if (comparison_keys().find(child.key) == nullptr) {
      checker.unknown(child.key_place, "key", child.key, names_of(kComparisonKeys.fields),
                      " in comparison");
    } else if (checker.is_type(&child, Node::Type::text, fmt::format("comparison.{}", child.key),
                               "a name in quotes")) {
      if (child.key == "primary")
        check_outcome(child.place, "the primary outcome", child.text(), plan, checker);
      else
        check_baseline(child, plan, checker);
      read[child.key] = child.text();
    }
  }
  return read;
}
}  // namespace

nlohmann::json read_comparison(const Node& root, const Plan& plan, Checker& checker) {
  nlohmann::json read = read_table(root.find("comparison"), plan, checker);
  if (nlohmann::json claims = read_claims(root.find("claims"), plan, checker); !claims.is_null())
    read["claims"] = std::move(claims);
  return read.empty() ? nullptr : read;
}

}  // namespace acid

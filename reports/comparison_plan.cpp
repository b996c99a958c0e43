#include "reports/comparison_plan.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <set>

#include "engine/base/error.hpp"
#include "engine/recorder/metrics.hpp"
#include "reports/numbers.hpp"
#include "store/queries.hpp"

namespace acid {
namespace {

using nlohmann::json;

[[noreturn]] void refuse_plan() {
  throw StoreError(
      "what an experiment's [comparison] says is not as acid wrote it: somebody altered the "
      "database, or another version wrote it; 'acid run RECIPE' stores it again");
}

std::string text_at(const json& document, const char* key) {
  const auto found = document.find(key);
  if (found == document.end()) return {};
  if (!found->is_string()) refuse_plan();
  return found->get<std::string>();
}

bool is_comparable(const std::string& metric) {
  return is_outcome(metric) || is_way_to_target(metric);
}

std::map<std::string, Margin> margins_at(const json& document) {
  std::map<std::string, Margin> margins;
  const auto found = document.find("margins");
  if (found == document.end()) return margins;
  if (!found->is_object()) refuse_plan();
  for (const auto& [metric, one] : found->items()) {
    if (!is_comparable(metric) || !one.is_object() || !one.contains("value") ||
        !one.at("value").is_number() || !one.contains("relative") ||
        !one.at("relative").is_boolean())
      refuse_plan();
    const Margin margin{one.at("value").get<double>(), one.at("relative").get<bool>()};
    if (!std::isfinite(margin.value) || margin.value <= 0) refuse_plan();
    margins[metric] = margin;
  }
  return margins;
}

/// Takes over a value on which all plans agree.
template <class Value>
void agree(Value ComparisonPlan::*member, const char* words, const char* instead,
           const std::vector<ComparisonPlan>& plans, ComparisonPlan& agreed,
           std::vector<ComparedNote>& notes) {
  for (const ComparisonPlan& plan : plans)
    if (plan.*member != plans.front().*member) {
      notes.push_back(
          {NoteKind::recipes_differ, fmt::format("the experiments compared here do not agree on "
                                                 "the {} ([comparison] of their recipes): "
                                                 "{}",
                                                 words, instead)});
      return;
    }
  agreed.*member = plans.front().*member;
}

std::string words_of_plan(const ComparisonPlan& plan) {
  std::vector<std::string> words;
  words.push_back("primary outcome " + (plan.primary.empty() ? "the task's" : plan.primary));
  for (const auto& [metric, margin] : plan.margins)
    words.push_back(fmt::format("margin {} in {}", margin.words(), metric));
  if (!plan.consensus_baseline.empty())
    words.push_back("consensus distances to " + plan.consensus_baseline);
  return fmt::format("{}", fmt::join(words, ", "));
}

/// The newest earlier plan with other words.
std::string words_before(const Store& store, const RunSummary& run, const ComparisonPlan& plan) {
  const std::string words = words_of_plan(plan);
  for (const json& document : comparisons_before(store, run.experiment))
    if (std::string other = words_of_plan(comparison_plan_from(document)); other != words)
      return other;
  return {};
}

}  // namespace

double Margin::of(double baseline) const { return relative ? value * std::abs(baseline) : value; }

std::string Margin::words() const {
  return relative ? format_number(100 * value, 3) + " %" : format_number(value, 3);
}

ComparisonPlan comparison_plan_from(const json& document) {
  if (document.is_null()) return {};
  if (!document.is_object()) refuse_plan();
  ComparisonPlan plan{.primary = text_at(document, "primary"),
                      .consensus_baseline = text_at(document, "consensus_baseline"),
                      .margins = margins_at(document)};
  if (!plan.primary.empty() && !is_comparable(plan.primary)) refuse_plan();
  auto left_out = left_out_from(document.value("left_out", json()));
  if (!left_out) refuse_plan();
  plan.left_out = *std::move(left_out);
  return plan;
}

std::vector<ComparisonPlan> comparison_plans_of(const Store& store,
                                                const std::vector<RunSummary>& runs) {
  std::vector<ComparisonPlan> plans;
  std::set<std::string> seen;
  for (const RunSummary& run : runs)
    if (seen.insert(run.experiment).second) {
      ComparisonPlan plan = comparison_plan_from(experiment_of(store, run.experiment).comparison);
      plan.before = words_before(store, run, plan);
      plans.push_back(std::move(plan));
    }
  return plans;
}

ComparisonPlan agreed_plan(const std::vector<ComparisonPlan>& plans,
                           std::vector<ComparedNote>& notes) {
  ComparisonPlan agreed;
  if (plans.empty()) return agreed;
  agree(&ComparisonPlan::primary, "primary outcome", "it is the task's", plans, agreed, notes);
  agree(&ComparisonPlan::consensus_baseline, "baseline of consensus distances",
        "it is the first algorithm of pairwise exchanges by rate", plans, agreed, notes);
  agree(&ComparisonPlan::margins, "margins", "none counts", plans, agreed, notes);
  std::vector<LeftOutCell> left_out;
  for (const ComparisonPlan& plan : plans)
    left_out.insert(left_out.end(), plan.left_out.begin(), plan.left_out.end());
  for (const std::string& words : left_out_words(left_out))
    notes.push_back(
        {NoteKind::left_out,
         fmt::format("left out of the sweep, so that nothing is compared with it there: "
                     "{}",
                     words)});
  for (const ComparisonPlan& plan : plans)
    if (!plan.before.empty())
      notes.push_back(
          {NoteKind::changed_plan,
           fmt::format(
               "how the runs are compared was changed when some had ended: before, {}; now, "
               "{}",
               plan.before, words_of_plan(plan))});
  return agreed;
}

}  // namespace acid

#include "reports/comparison_plan.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "engine/base/error.hpp"
#include "engine/base/names.hpp"
#include "engine/recorder/metrics.hpp"
#include "reports/numbers.hpp"
#include "reports/settings.hpp"
#include "store/queries.hpp"

namespace acid {
namespace {

using nlohmann::json;

constexpr std::size_t kMostNamedSettings = 4;

[[noreturn]] void refuse_plan() {
  throw StoreError(
      "what an experiment's [comparison] says is not as acid wrote it: somebody altered the "
      "database, or another version wrote it; 'acid run RECIPE' stores it again");
}

bool is_comparable(const std::string& metric) {
  return is_outcome(metric) || is_way_to_target(metric);
}

std::map<std::string, Margin> margins_from(const json::object_t& document) {
  std::map<std::string, Margin> margins;
  for (const auto& [metric, one] : document) {
    const Margin margin{one.at("value"), one.at("relative")};
    if (!is_comparable(metric) || !std::isfinite(margin.value) || margin.value <= 0) refuse_plan();
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

/// "topology.kind = ring, workers.count = 4"; without a sweep empty.
std::string setting_words(const json& settings) {
  std::vector<std::string> words;
  for (const auto& [key, value] : settings.items())
    words.push_back(fmt::format("{} = {}", key, value_text(value)));
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
  return relative ? fmt::format("{:.12g} %", 100 * value) : fmt::format("{:.12g}", value);
}

std::vector<LeftOutCell> left_out_from(const json& list) {
  std::vector<LeftOutCell> cells;
  if (!list.is_null() && !list.is_array()) refuse_plan();
  for (const json& one : list) {
    const LeftOutCell& cell =
        cells.emplace_back(LeftOutCell{one.at("label"), one.at("settings"), one.at("reason")});
    if (cell.label.empty() || !cell.settings.is_object() || cell.reason.empty()) refuse_plan();
  }
  return cells;
}

std::vector<std::string> left_out_words(const std::vector<LeftOutCell>& cells) {
  // In the order in which they come.
  std::vector<std::pair<std::pair<std::string, std::string>, std::vector<std::string>>> settings;
  for (const LeftOutCell& cell : cells) {
    const std::pair which(cell.label, cell.reason);
    auto known = std::ranges::find(settings, which, [](const auto& one) { return one.first; });
    if (known == settings.end()) known = settings.insert(known, {which, {}});
    const std::string setting = setting_words(cell.settings);
    if (!setting.empty() && std::ranges::find(known->second, setting) == known->second.end())
      known->second.push_back(setting);
  }
  std::vector<std::string> words;
  for (const auto& [which, at] : settings) {
    const std::string where = at.size() > kMostNamedSettings
                                  ? counted(at.size(), "setting")
                                  : fmt::format("{}", fmt::join(at, " and at "));
    words.push_back(
        fmt::format("{}{}{}: {}", which.first, where.empty() ? "" : " at ", where, which.second));
  }
  return words;
}

ComparisonPlan comparison_plan_from(const json& document) {
  if (document.is_null()) return {};
  try {
    ComparisonPlan plan{
        .primary = document.value("primary", ""),
        .consensus_baseline = document.value("consensus_baseline", ""),
        .margins = margins_from(document.value("margins", json::object_t())),
        .left_out = left_out_from(document.value("left_out", json())),
    };
    if (!plan.primary.empty() && !is_comparable(plan.primary)) refuse_plan();
    return plan;
  } catch (const json::exception&) {
    refuse_plan();
  }
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
    notes.push_back({NoteKind::left_out,
                     "left out of the sweep, so that nothing is compared with it there: " + words});
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

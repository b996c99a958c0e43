#include "cli/plan_outlook.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "cli/terminal/fold.hpp"
#include "cli/terminal/progress.hpp"
#include "engine/base/names.hpp"
#include "settings/run_settings.hpp"

namespace acid {
namespace {

/// Those of the runs that the store has, by id.
std::map<std::string, RunSummary> stored_runs(const Store* store,
                                              const std::vector<const PlannedRun*>& runs) {
  std::map<std::string, RunSummary> stored;
  if (store == nullptr || runs.empty()) return stored;
  RunFilter filter;
  for (const PlannedRun* run : runs) filter.ids.push_back(run->id);
  for (RunSummary& run : list_runs(*store, filter)) stored.emplace(run.id, std::move(run));
  return stored;
}

std::vector<const PlannedRun*> pointers_to(const std::vector<PlannedRun>& runs) {
  std::vector<const PlannedRun*> pointers;
  for (const PlannedRun& run : runs) pointers.push_back(&run);
  return pointers;
}

}  // namespace

double ExpectedRun::fraction() const {
  if (!stored) return 0;
  return is_over() ? 1 : fraction_done(*stored);
}

std::string ExpectedRun::state_words() const {
  const std::string at = fmt::format(" at {:.0f} %", std::floor(100 * fraction()));
  switch (state()) {
    case RunState::planned:
      return "to do";
    case RunState::running:
      return "running on " + host + at;
    case RunState::interrupted:
      return "interrupted" + at;
    default:
      return std::string(state_name(state()));
  }
}

nlohmann::json ExpectedRun::to_json() const {
  return {{"state", state_name(state())},
          {"fraction", fraction()},
          {"host", host.empty() ? nlohmann::json(nullptr) : nlohmann::json(host)}};
}

Outlook::Outlook(const Plan& plan, const RecipeOptions& recipe, const Store* store) {
  if (plan.search) {
    add(store, pointers_to(plan.runs));  // of the first rung
    for (const PlannedSearch::Rung& rung : plan.search->rungs)
      add(store, going_on(rung.runs, rung.cells, rung.values, store));
  }
  const std::vector<const PlannedRun*> of_comparison =
      plan.search ? going_on(plan.search->finals, plan.search->cells, 1, store)
                  : pointers_to(plan.runs);
  simulated_ = simulated(plan, recipe, of_comparison, store);
  if (simulated_) add(store, pointers_to(simulated_->plan.runs));
  add(store, of_comparison);
}

void Outlook::add(const Store* store, const std::vector<const PlannedRun*>& runs) {
  const auto stored = stored_runs(store, runs);
  for (const PlannedRun* run : runs) {
    if (!places_.emplace(run->id, runs_.size()).second) continue;
    ExpectedRun expected{run, {}, {}};
    if (const auto found = stored.find(run->id); found != stored.end())
      expected.stored = found->second;
    if (expected.state() == RunState::running)
      if (const auto pace = newest_pace(*store, run->id)) expected.host = pace->host;
    runs_.push_back(std::move(expected));
  }
}

// Of the values in a cell only so many go on: those that the store has most runs of, or else the
// first, stand for them.
std::vector<const PlannedRun*> Outlook::going_on(const std::vector<PlannedRun>& runs,
                                                 const std::vector<std::vector<std::string>>& cells,
                                                 std::size_t values, const Store* store) const {
  std::vector<const PlannedRun*> all = pointers_to(runs);
  std::map<std::string, int> stored;
  for (const auto& [id, run] : stored_runs(store, all)) ++stored[run.group];
  std::set<std::string> left;
  for (std::vector<std::string> cell : cells) {
    std::ranges::stable_sort(cell, std::greater(),
                             [&](const std::string& group) { return stored[group]; });
    cell.resize(std::min(values, cell.size()));
    left.insert(cell.begin(), cell.end());
  }
  std::erase_if(all, [&](const PlannedRun* run) { return !left.contains(run->group); });
  return all;
}

std::optional<SimulatedPlan> Outlook::simulated(const Plan& plan, const RecipeOptions& recipe,
                                                std::vector<const PlannedRun*> runs,
                                                const Store* store) const {
  std::erase_if(runs, [](const PlannedRun* run) {  // the clock alone takes no time
    return settings_from(run->settings).execution.predict_runs == 0;
  });
  const std::vector<std::string> groups = unpredicted(store, runs).groups;
  if (groups.empty()) return std::nullopt;
  return simulated_plan(plan, groups, [&](const std::vector<std::string>& overrides) {
    return recipe.compile_with(overrides);
  });
}

const ExpectedRun& Outlook::of(const PlannedRun& run) const { return runs_[places_.at(run.id)]; }

bool Outlook::has_begun() const {
  return std::ranges::any_of(
      runs_, [](const ExpectedRun& run) { return run.state() != RunState::planned; });
}

std::string Outlook::words() const {
  std::vector<RunState> states;
  std::set<std::string> hosts;
  for (const ExpectedRun& run : runs_) {
    states.push_back(run.state());
    if (run.state() == RunState::running) hosts.insert(run.host);
  }
  return fmt::format(
      "{}: {}{}", counted(runs_.size(), "run"), counted_states(states),
      hosts.empty() ? "" : fmt::format("; it runs on {}", together({hosts.begin(), hosts.end()})));
}

nlohmann::json Outlook::states() const {
  std::vector<RunState> states;
  for (const ExpectedRun& run : runs_) states.push_back(run.state());
  nlohmann::json counts = nlohmann::json::object();
  for (const auto& [state, count] : count_states(states))
    counts[std::string(state_name(state))] = count;
  return counts;
}

}  // namespace acid

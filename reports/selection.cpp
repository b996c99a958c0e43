#include "reports/selection.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "engine/base/error.hpp"
#include "engine/methods/method.hpp"
#include "reports/compare.hpp"
#include "reports/grouping.hpp"
#include "reports/known_metrics.hpp"
#include "reports/settings.hpp"

namespace acid {
namespace {

constexpr const char* kValidationMetric = "validation_loss";

/// Requested seeds with an outcome in every candidate.
std::vector<std::uint64_t> common_seeds(const std::vector<const ComparedGroup*>& candidates,
                                        const std::vector<std::uint64_t>& asked) {
  std::vector<std::uint64_t> common;
  for (const std::uint64_t seed : candidates.front()->seeds()) {
    const bool wanted = asked.empty() || std::ranges::find(asked, seed) != asked.end();
    if (wanted && std::ranges::all_of(candidates, [&](const ComparedGroup* group) {
          return group->seeds().contains(seed);
        }))
      common.push_back(seed);
  }
  return common;
}

Selection::Candidate judged(const ComparedGroup& group, const std::vector<std::uint64_t>& seeds,
                            const std::string& metric) {
  Selection::Candidate candidate{.group = group.group, .values = {}, .rounding = group.rounding};
  double sum = 0;
  for (const std::uint64_t seed : seeds) {
    if (std::ranges::find(group.diverged, seed) != group.diverged.end()) {
      ++candidate.diverged;
      continue;
    }
    const auto outcome = outcome_of(group, seed, metric);
    if (!outcome)
      throw UsageError(
          fmt::format("{} with seed {} has no {} to choose by: every run must have recorded it",
                      group.label, seed, metric));
    sum += *outcome;
    ++candidate.n;
  }
  if (candidate.n > 0) candidate.mean = sum / candidate.n;
  candidate.runs = candidate.n + candidate.diverged;
  if (const nlohmann::json& budget = setting_at(group.settings, "/budget/gradients");
      budget.is_number())
    candidate.gradients = candidate.runs * budget.get<std::int64_t>();
  return candidate;
}

/// Compares numbers, one key after the other; other values decide nothing.
bool smaller(const Selection::Candidate& a, const Selection::Candidate& b) {
  for (std::size_t k = 0; k < a.values.size(); ++k) {
    if (!a.values[k].is_number() || !b.values[k].is_number()) continue;
    const double left = a.values[k].get<double>(), right = b.values[k].get<double>();
    if (left != right) return left < right;
  }
  return false;
}

bool better(const Selection::Candidate& a, const Selection::Candidate& b, int direction) {
  if (a.rung != b.rung) return a.rung > b.rung;
  if (a.diverged != b.diverged) return a.diverged < b.diverged;
  const double left = direction * a.mean, right = direction * b.mean;
  if (std::isnan(left) || std::isnan(right)) return !std::isnan(left) && std::isnan(right);
  return left > right;
}

/// Whether nothing but rounding tells them apart, which another machine may do otherwise.
bool tie(const Selection::Candidate& a, const Selection::Candidate& b, const std::string& metric) {
  if (a.rung != b.rung || a.diverged != b.diverged) return false;
  if (a.mean == b.mean || (std::isnan(a.mean) && std::isnan(b.mean))) return true;
  return std::abs(a.mean - b.mean) <=
         rounding_floor(a.rounding, b.rounding, metric, a.mean, b.mean, 0);
}

/// The first choice among the candidates at these places, which are in the grid's order. Ties are
/// with the best alone: one that ties with a tie may be worse.
std::size_t first_choice(const std::vector<Selection::Candidate>& candidates,
                         std::vector<std::size_t> places, const std::string& metric) {
  const auto at = [&](std::size_t place) -> const Selection::Candidate& {
    return candidates[place];
  };
  const auto is_better = [&](const Selection::Candidate& a, const Selection::Candidate& b) {
    return better(a, b, better_direction(metric));
  };
  const Selection::Candidate& best = at(*std::ranges::min_element(places, is_better, at));
  std::erase_if(places, [&](std::size_t place) { return !tie(at(place), best, metric); });
  return *std::ranges::min_element(places, smaller, at);
}

std::vector<std::size_t> places_of(const std::vector<Selection::Candidate>& candidates) {
  std::vector<std::size_t> places(candidates.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  return places;
}

/// Keys in which the winner has the smallest or largest of several numbers.
std::vector<std::string> edges_of(const Selection::Choice& choice) {
  std::vector<std::string> edges;
  for (std::size_t k = 0; k < choice.keys.size(); ++k) {
    std::set<double> tried;
    for (const Selection::Candidate& candidate : choice.candidates)
      if (candidate.values[k].is_number()) tried.insert(candidate.values[k].get<double>());
    const nlohmann::json& chosen = choice.winner().values[k];
    if (tried.size() < 2 || !chosen.is_number()) continue;
    const double value = chosen.get<double>();
    if (value == *tried.begin() || value == *tried.rbegin()) edges.push_back(choice.keys[k]);
  }
  return edges;
}

/// The searched keys that take several values in the cell; if none does, those that it has.
std::vector<std::string> keys_of_cell(const std::vector<FlatSettings>& cell,
                                      const std::vector<std::string>& keys) {
  const std::vector<std::string> varying = varying_keys(cell);
  std::vector<std::string> own, there;
  for (const std::string& key : keys) {
    if (std::ranges::find(varying, key) != varying.end()) own.push_back(key);
    if (cell.front().contains(key)) there.push_back(key);
  }
  return own.empty() ? there : own;
}

void choose(Selection::Choice& choice, const std::string& metric) {
  choice.chosen = first_choice(choice.candidates, places_of(choice.candidates), metric);
  choice.edges = edges_of(choice);
}

struct Cell {
  std::vector<const ComparedGroup*> groups;
  std::vector<FlatSettings> flat;
};

Selection::Choice choice_in(const Cell& cell, const std::vector<std::string>& keys,
                            const std::vector<std::uint64_t>& seeds, const std::string& metric) {
  Selection::Choice choice;
  choice.keys = keys_of_cell(cell.flat, keys);
  for (std::size_t c = 0; c < cell.groups.size(); ++c) {
    Selection::Candidate candidate = judged(*cell.groups[c], seeds, metric);
    for (const std::string& key : choice.keys)
      candidate.values.push_back(value_at(cell.flat[c], key));
    choice.candidates.push_back(std::move(candidate));
  }
  choose(choice, metric);
  return choice;
}

/// The label of each cell, unique at its setting, by its first group.
std::map<std::string, std::string> labels_of(const std::vector<Cell>& cells) {
  Comparison first;
  std::map<std::string, std::string> labels;
  for (const Cell& cell : cells)
    if (labels.emplace(cell.groups.front()->group, "").second)
      first.groups.push_back(*cell.groups.front());
  form_points(first);
  distinguish_labels(first);
  for (const ComparedGroup& group : first.groups) labels[group.group] = group.label;
  return labels;
}

/// Whether the resolver computes the setting from others, such as a batch size.
bool is_worked_out(std::string_view key) {
  return key.starts_with("budget.") || key.starts_with("evaluation.") ||
         key.starts_with("checkpoint.");
}

/// Whether, within a label, the values of the searched keys determine the value of this one.
bool follows(const std::string& key, const std::vector<std::string>& searched,
             const Comparison& all, const std::vector<FlatSettings>& flat) {
  std::map<std::vector<nlohmann::json>, nlohmann::json> known;
  for (std::size_t g = 0; g < flat.size(); ++g) {
    std::vector<nlohmann::json> values{all.groups[g].label};
    for (const std::string& one : searched) values.push_back(value_at(flat[g], one));
    const nlohmann::json& value = value_at(flat[g], key);
    if (known.try_emplace(std::move(values), value).first->second != value) return false;
  }
  return true;
}

/// The algorithm's settings that a recipe gives, not those that follow from the graph.
bool is_given(const ComparedGroup& group, const std::string& key) {
  const AlgorithmEntry* const entry = find_algorithm(group.algorithm);
  if (entry == nullptr) return true;
  const std::string name = key.substr(key.find('.') + 1);
  return std::ranges::any_of(entry->fields, [&](const Field& field) {
    return field.name == name && field.fallback != "null";
  });
}

/// Groups that differ only in the searched keys and in settings that follow from them.
Cells cells_over(const Comparison& all, const std::vector<std::string>& searched) {
  const std::vector<FlatSettings> flat = flat_settings(all);
  std::set<std::string> apart = swept_keys(all);
  for (const std::string& key : searched) apart.erase(key);
  std::erase_if(apart, [&](const std::string& key) {
    return is_worked_out(key) && follows(key, searched, all, flat);
  });
  Cells cells;
  std::map<std::vector<nlohmann::json>, std::size_t> known;
  for (std::size_t g = 0; g < flat.size(); ++g) {
    const ComparedGroup& group = all.groups[g];
    std::vector<nlohmann::json> place{group.algorithm, group.label};
    for (const std::string& key : apart) place.push_back(value_at(flat[g], key));
    for (const auto& [key, value] : flat[g])
      if (is_algorithm_key(key) && std::ranges::find(searched, key) == searched.end() &&
          is_given(group, key))
        place.push_back(value);
    const auto [cell, is_new] = known.try_emplace(std::move(place), cells.size());
    if (is_new) cells.emplace_back();
    cells[cell->second].push_back(group.group);
  }
  return cells;
}

/// Validation data if all runs have some, else the outcome of a verdict.
std::string metric_to_choose_by(const Comparison& all) {
  const auto everywhere = [&](std::string_view metric) {
    return std::ranges::all_of(all.groups, [&](const ComparedGroup& group) {
      return std::ranges::all_of(group.runs, [&](const RunSummary& run) {
        return run.metrics.contains(std::string(metric));
      });
    });
  };
  if (everywhere(kValidationMetric)) return kValidationMetric;
  for (const Metric& outcome : kOutcomes)
    if (everywhere(outcome.name)) return std::string(outcome.name);
  throw UsageError("--best-over: no metric to choose by is in all runs: name one with --best-on");
}

/// Whether the metric is measured on a test set, which a finite task has.
bool is_on_test(const std::string& metric, const ComparedGroup& group) {
  const nlohmann::json::json_pointer batch("/task/batch_size");
  const bool finite = !group.settings.contains(batch) || !group.settings.at(batch).is_null();
  return finite && (metric.starts_with("eval_") || metric.starts_with("worker_"));
}

void check_keys(const Comparison& all, const std::vector<std::string>& keys) {
  const std::vector<FlatSettings> flat = flat_settings(all);
  require_settings("--best-over", keys, flat, swept_keys(all));
  const std::vector<std::string> varying = varying_keys(flat);
  for (const std::string& key : keys)
    if (std::ranges::find(varying, key) == varying.end())
      throw UsageError(fmt::format("--best-over: all runs here have the same {}", key));
}

[[noreturn]] void refuse_same_seeds(const Selection& selection) {
  throw UsageError(fmt::format(
      "--best-over: the values would be chosen and compared on the same seeds ({}), which flatters "
      "every algorithm, and most the one with most values; name the seeds to choose on with "
      "--selection-seeds, and the others are compared; let a recipe's [search] choose on seeds of "
      "its own; or accept it with --same-seeds, and the comparison says so",
      fmt::join(selection.seeds, ", ")));
}

}  // namespace

int Selection::Choice::runs() const {
  int sum = 0;
  for (const Candidate& candidate : candidates) sum += candidate.runs;
  return sum;
}

std::int64_t Selection::Choice::gradients() const {
  std::int64_t sum = 0;
  for (const Candidate& candidate : candidates) sum += candidate.gradients;
  return sum;
}

std::set<std::string> Selection::keys() const {
  std::set<std::string> all;
  for (const Choice& choice : choices) all.insert(choice.keys.begin(), choice.keys.end());
  return all;
}

std::set<std::string> Selection::settings() const {
  std::set<std::string> all;
  for (const Choice& choice : choices)
    for (const auto& [key, value] : choice.settings) all.insert(key);
  return all;
}

const Selection::Choice* Selection::choice_of(const std::string& group) const {
  for (const Choice& choice : choices)
    if (choice.winner().group == group) return &choice;
  return nullptr;
}

Selection select(const std::vector<ComparedRun>& runs, const Cells& cells,
                 const std::vector<std::string>& keys, const std::string& metric,
                 const std::vector<std::uint64_t>& seeds) {
  Comparison all;
  form_groups(all, runs);
  std::vector<Cell> candidates;
  std::vector<const ComparedGroup*> everyone;
  std::set<std::string> settings = swept_keys(all);
  for (const std::vector<std::string>& groups : cells) {
    Cell& cell = candidates.emplace_back();
    for (const std::string& group : groups) {
      cell.groups.push_back(&group_of(all, group));
      cell.flat.push_back(flatten(cell.groups.back()->settings));
      everyone.push_back(cell.groups.back());
    }
    for (const std::string& key : varying_keys(cell.flat)) settings.erase(key);
  }
  Selection selection{.metric = metric,
                      .seeds = common_seeds(everyone, seeds),
                      .on_test = is_on_test(metric, *everyone.front()),
                      .choices = {}};
  if (selection.seeds.empty())
    throw UsageError(fmt::format(
        "there is no seed on which all of the values finished or diverged, so none can be chosen{}",
        seeds.empty() ? "" : fmt::format(", among {}", fmt::join(seeds, ", "))));
  const std::map<std::string, std::string> labels = labels_of(candidates);
  for (const Cell& cell : candidates) {
    Selection::Choice choice = choice_in(cell, keys, selection.seeds, metric);
    choice.label = labels.at(cell.groups.front()->group);
    for (const std::string& key : settings)
      choice.settings.emplace_back(key, value_at(cell.flat.front(), key));
    selection.choices.push_back(std::move(choice));
  }
  return selection;
}

void judge_again(Selection& selection, const std::vector<ComparedRun>& runs, const Cells& cells) {
  Comparison all;
  form_groups(all, runs);
  for (std::size_t c = 0; c < cells.size(); ++c) {
    Selection::Choice& choice = selection.choices[c];
    for (std::size_t k = 0; k < cells[c].size(); ++k) {
      if (cells[c][k].empty()) continue;
      Selection::Candidate& known = choice.candidates[k];
      const Selection::Candidate now =
          judged(group_of(all, cells[c][k]), selection.seeds, selection.metric);
      known.n = now.n;
      known.diverged = now.diverged;
      known.mean = now.mean;
      known.rounding = now.rounding;
      ++known.rung;
      known.runs += now.runs;
      known.gradients += now.gradients;
    }
    choose(choice, selection.metric);
  }
}

Cells best_of(const Selection& selection, std::size_t count, const Cells& cells) {
  Cells best;
  for (std::size_t c = 0; c < cells.size(); ++c) {
    const std::vector<Selection::Candidate>& candidates = selection.choices[c].candidates;
    best.emplace_back(candidates.size());
    std::vector<std::size_t> left = places_of(candidates);
    for (std::size_t k = 0; k < count && !left.empty(); ++k) {
      const std::size_t next = first_choice(candidates, left, selection.metric);
      best.back()[next] = cells[c][next];
      std::erase(left, next);
    }
  }
  return best;
}

Selection select_best(std::vector<ComparedRun>& runs, const CompareOptions& options) {
  Comparison all;
  form_groups(all, runs);
  check_keys(all, options.best_over);
  const std::string metric = options.best_on.empty() ? metric_to_choose_by(all) : options.best_on;
  if (known_metric(metric) != nullptr && better_direction(metric) == 0)
    throw UsageError(fmt::format("--best-on: neither more nor less {} is better", metric));
  Selection selection = select(runs, cells_over(all, options.best_over), options.best_over, metric,
                               options.selection_seeds);
  selection.same_seeds = options.same_seeds;
  std::erase_if(runs, [&](const ComparedRun& run) {
    return selection.choice_of(run.summary.group) == nullptr ||
           (!options.same_seeds && std::ranges::count(selection.seeds, run.summary.seed) > 0);
  });
  // As all runs are ordered: the first algorithm may be the baseline.
  std::ranges::stable_sort(
      runs, {}, [&](const ComparedRun& run) { return selection.choice_of(run.summary.group); });
  for (const Selection::Choice& choice : selection.choices)
    if (std::ranges::none_of(runs, [&](const ComparedRun& run) {
          return run.summary.group == choice.winner().group;
        }))
      refuse_same_seeds(selection);
  return selection;
}

}  // namespace acid

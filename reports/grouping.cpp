#include "reports/grouping.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "reports/settings.hpp"

namespace acid {
namespace {

std::vector<FlatSettings> flat_settings(const Comparison& comparison) {
  std::vector<FlatSettings> flat;
  for (const ComparedGroup& group : comparison.groups) flat.push_back(flatten(group.settings));
  return flat;
}

/// Keys outside the algorithm's own table that take several values under one label.
std::set<std::string> swept_keys(const Comparison& comparison,
                                 const std::vector<FlatSettings>& flat) {
  std::map<std::pair<std::string, std::string>, std::vector<const FlatSettings*>> by_label;
  for (std::size_t g = 0; g < flat.size(); ++g)
    by_label[{comparison.groups[g].algorithm, comparison.groups[g].label}].push_back(&flat[g]);
  std::set<std::string> swept;
  for (const auto& [label, settings] : by_label)
    for (const std::string& key : varying_keys(settings))
      if (!is_algorithm_key(key)) swept.insert(key);
  return swept;
}

/// What tells the groups apart: swept and set keys, and the algorithm's own settings where two
/// groups of one algorithm at one sweep point differ in them.
void find_varying(Comparison& comparison, const std::vector<FlatSettings>& flat) {
  std::vector<const FlatSettings*> all;
  for (const FlatSettings& settings : flat) all.push_back(&settings);
  std::vector<std::string> shared;
  for (const std::string& key : varying_keys(all))
    if (!is_algorithm_key(key)) shared.push_back(key);
  for (const ComparedPoint& point : comparison.points)
    for (const std::size_t g : point.groups) {
      std::vector<const FlatSettings*> siblings;
      for (const std::size_t other : point.groups)
        if (comparison.groups[other].algorithm == comparison.groups[g].algorithm)
          siblings.push_back(&flat[other]);
      comparison.groups[g].varying = shared;
      for (const std::string& key : varying_keys(siblings))
        if (is_algorithm_key(key)) comparison.groups[g].varying.push_back(key);
    }
}

}  // namespace

void form_groups(Comparison& comparison, const std::vector<ComparedRun>& runs) {
  std::map<std::string, std::size_t> index;
  for (const ComparedRun& run : runs) {
    const auto [found, is_new] = index.emplace(run.summary.group, comparison.groups.size());
    if (is_new) {
      ComparedGroup group;
      group.group = run.summary.group;
      group.algorithm = run.summary.algorithm;
      group.label = run.summary.label.empty() ? run.summary.algorithm : run.summary.label;
      group.settings = run.settings;
      if (group.settings.is_object()) group.settings.erase("seed");
      comparison.groups.push_back(std::move(group));
    }
    ComparedGroup& group = comparison.groups[found->second];
    if (run.summary.state == RunState::finished)
      group.runs.push_back(run.summary);
    else
      ++group.unfinished;
  }
  for (ComparedGroup& group : comparison.groups)
    std::stable_sort(group.runs.begin(), group.runs.end(),
                     [](const RunSummary& a, const RunSummary& b) { return a.seed < b.seed; });
}

void form_points(Comparison& comparison) {
  const std::vector<FlatSettings> flat = flat_settings(comparison);
  const std::set<std::string> swept = swept_keys(comparison, flat);
  for (std::size_t g = 0; g < flat.size(); ++g) {
    ComparedPoint candidate;
    for (const std::string& key : swept)
      candidate.settings.emplace_back(key, value_at(flat[g], key));
    auto point = std::find_if(
        comparison.points.begin(), comparison.points.end(),
        [&](const ComparedPoint& known) { return known.settings == candidate.settings; });
    if (point == comparison.points.end())
      point = comparison.points.insert(point, std::move(candidate));
    point->groups.push_back(g);
    const ComparedGroup& group = comparison.groups[g];
    const bool named = group.algorithm == comparison.baseline || group.label == comparison.baseline;
    if (named && !point->baseline) point->baseline = g;
  }
  find_varying(comparison, flat);
}

void distinguish_labels(Comparison& comparison) {
  for (const ComparedPoint& point : comparison.points) {
    std::map<std::string, std::vector<std::size_t>> by_label;
    for (const std::size_t g : point.groups) by_label[comparison.groups[g].label].push_back(g);
    for (const auto& [label, same] : by_label) {
      if (same.size() < 2) continue;
      for (const std::size_t g : same) {
        ComparedGroup& group = comparison.groups[g];
        const FlatSettings flat = flatten(group.settings);
        std::string what;
        for (const std::string& key : group.varying)
          if (is_algorithm_key(key) && value_at(flat, key).is_primitive())
            what += fmt::format("{}{} {}", what.empty() ? "" : ", ", key.substr(key.find('.') + 1),
                                value_text(value_at(flat, key)));
        group.label += fmt::format(" ({})", what.empty() ? group.group.substr(0, 8) : what);
      }
    }
  }
}

std::string point_title(const ComparedPoint& point) {
  std::string title;
  for (const auto& [key, value] : point.settings)
    title += fmt::format("{}{} = {}", title.empty() ? "" : ", ", key, value_text(value));
  return title;
}

}  // namespace acid

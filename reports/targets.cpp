#include "reports/targets.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "reports/known_metrics.hpp"
#include "reports/numbers.hpp"
#include "reports/settings.hpp"

namespace acid {

std::optional<Target> target_of(const nlohmann::json& settings,
                                const std::optional<Target>& asked) {
  if (asked) return asked;
  const nlohmann::json& target = setting_at(settings, "/budget/target");
  if (!target.is_object()) return std::nullopt;
  return Target{target.value("metric", std::string()), target.value("value", 0.0)};
}

std::vector<std::vector<std::size_t>> linked_points(const Comparison& comparison) {
  struct Linked {
    std::vector<std::size_t> points;
    std::set<std::string> groups;  // of runs
  };
  std::vector<Linked> all;
  for (std::size_t p = 0; p < comparison.points.size(); ++p) {
    Linked one{{p}, {}};
    for (const std::size_t g : comparison.points[p].groups)
      one.groups.insert(comparison.groups[g].runs_group);
    std::erase_if(all, [&](const Linked& known) {
      const bool shares = std::ranges::any_of(
          known.groups, [&](const std::string& group) { return one.groups.contains(group); });
      if (!shares) return false;
      one.points.insert(one.points.end(), known.points.begin(), known.points.end());
      one.groups.insert(known.groups.begin(), known.groups.end());
      return true;
    });
    all.push_back(std::move(one));
  }
  std::vector<std::vector<std::size_t>> points;
  for (Linked& one : all) points.push_back(std::move(one.points));
  return points;
}

std::vector<std::size_t> groups_at(const Comparison& comparison,
                                   const std::vector<std::size_t>& points) {
  std::vector<std::size_t> groups;
  for (const std::size_t p : points)
    groups.insert(groups.end(), comparison.points[p].groups.begin(),
                  comparison.points[p].groups.end());
  return groups;
}

namespace {

/// Whether the group has finished runs, none of which recorded the metric.
bool lacks(const ComparedGroup& group, const std::string& metric) {
  return !group.runs.empty() && std::ranges::none_of(group.runs, [&](const RunSummary& run) {
    return run.metrics.contains(metric);
  });
}

}  // namespace

void settle_targets(Comparison& comparison) {
  for (const std::vector<std::size_t>& points : linked_points(comparison)) {
    const std::vector<std::size_t> groups = groups_at(comparison, points);
    std::vector<Target> all;  // each once
    for (const std::size_t g : groups) {
      ComparedGroup& group = comparison.groups[g];
      group.target = target_of(group.settings, comparison.target);
      if (group.target && comparison.readers.take(group.label) &&
          std::ranges::find(all, *group.target) == all.end())
        all.push_back(*group.target);
    }
    if (all.size() == 1)
      for (const std::size_t g : groups)
        if (ComparedGroup& group = comparison.groups[g];
            !group.target && !lacks(group, all.front().metric))
          group.target = all.front();
    for (const std::size_t p : points) comparison.points[p].targets_differ = all.size() > 1;
  }
}

std::size_t reached(const ComparedGroup& group) {
  return static_cast<std::size_t>(std::ranges::count_if(group.runs, [](const RunSummary& run) {
    return std::ranges::any_of(kWaysToTarget, [&](const Metric& way) {
      return run.metrics.contains(std::string(way.name));
    });
  }));
}

std::string target_text(const Target& target) {
  return fmt::format("{} = {}", target.metric, format_number(target.value, 6));
}

std::string targets_of(const Comparison& comparison, const std::vector<std::size_t>& groups) {
  std::vector<std::string> words;
  for (std::size_t g = 0; g < comparison.groups.size(); ++g) {
    const std::optional<Target>& target = comparison.groups[g].target;
    if (!target || (!groups.empty() && std::ranges::find(groups, g) == groups.end())) continue;
    const std::string text = target_text(*target);
    if (std::ranges::find(words, text) == words.end()) words.push_back(text);
  }
  return fmt::format("{}", fmt::join(words, " or "));
}

std::string with_target(std::string title, const std::string& targets) {
  constexpr std::string_view kEnd = "target";
  if (title.ends_with(fmt::format("to {}", kEnd)) && !targets.empty())
    title.replace(title.size() - kEnd.size(), kEnd.size(), targets);
  return title;
}

}  // namespace acid

#include "reports/grouping.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "engine/base/digest.hpp"
#include "engine/base/error.hpp"
#include "engine/base/names.hpp"
#include "reports/compare.hpp"
#include "reports/settings.hpp"
#include "settings/run_settings.hpp"

namespace acid {

std::vector<FlatSettings> flat_settings(const Comparison& comparison) {
  std::vector<FlatSettings> flat;
  for (const ComparedGroup& group : comparison.groups) flat.push_back(flatten(group.settings));
  return flat;
}

namespace {

/// Keys outside the algorithm's own table that take several values under one label.
std::set<std::string> keys_of_labels(const Comparison& comparison,
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

/// Whether other keys may imply it: how a run is watched, of which a recipe with "every epoch" gets
/// another value for every number of workers, and where a file lies, which may have moved.
bool may_be_implied(std::string_view key) {
  return key.starts_with("evaluation.") || role_of_key(key).is_file;
}

/// Drops what follows from other swept keys, so that points keep short names.
void drop_implied(std::set<std::string>& swept, const std::vector<FlatSettings>& flat) {
  const auto tells_apart = [&](const std::set<std::string>& keys) {
    std::set<std::vector<nlohmann::json>> points;
    for (const FlatSettings& settings : flat) {
      std::vector<nlohmann::json> point;
      for (const std::string& key : keys) point.push_back(value_at(settings, key));
      points.insert(std::move(point));
    }
    return points.size();
  };
  const std::set<std::string> all = swept;
  for (const std::string& key : all) {
    if (!may_be_implied(key)) continue;
    std::set<std::string> others = swept;
    others.erase(key);
    if (tells_apart(others) == tells_apart(swept)) swept = std::move(others);
  }
}

/// What distinguishes the groups: swept and set keys, and the algorithm's own settings if two
/// groups of one algorithm at one sweep point differ in them.
void find_varying(Comparison& comparison, const std::vector<FlatSettings>& flat) {
  std::vector<std::string> shared;
  for (const std::string& key : varying_keys(flat))
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

std::vector<std::string> parts_of(const std::string& key) {
  std::vector<std::string> parts;
  std::istringstream text(key);
  for (std::string part; std::getline(text, part, '.');) parts.push_back(part);
  return parts;
}

/// The keys that a person who wrote `key` may have meant: the nearest key or, if none is near,
/// those with a near part, swept ones before others.
std::vector<std::string> meant_keys(const std::string& key, const std::vector<std::string>& all,
                                    const std::vector<std::string>& swept) {
  if (const auto name = nearest_name(key, all)) return {*name};
  std::vector<std::string> parts, keys;
  for (const std::string& name : all)
    for (std::string& part : parts_of(name)) parts.push_back(std::move(part));
  const auto near = nearest_name(key, parts);
  if (!near) return {};
  for (const std::vector<std::string>* names : {&swept, &all}) {
    if (!keys.empty()) break;
    for (const std::string& name : *names)
      if (const auto own = parts_of(name); std::ranges::find(own, *near) != own.end())
        keys.push_back(name);
  }
  return keys;
}

[[noreturn]] void refuse_key(const char* option, const std::string& key,
                             const std::set<std::string>& known,
                             const std::vector<std::string>& swept) {
  const auto meant = meant_keys(key, {known.begin(), known.end()}, swept);
  throw UsageError(
      fmt::format("{}: no run here has the setting '{}'{}; {}", option, key,
                  meant.empty() ? "" : fmt::format(", did you mean {}?", one_of(meant)),
                  swept.empty() ? "no setting varies here but those of the algorithm"
                                : fmt::format("what varies is {}", fmt::join(swept, ", "))));
}

bool reads_no_graph(const ComparedGroup& group) {
  return group.settings.is_object() && group.settings.contains("topology") &&
         group.settings.at("topology").is_null();
}

/// Values of the settings that a sweep varies: those of the graph, and the others.
class SweptSettings {
 public:
  explicit SweptSettings(const std::set<std::string>& keys) {
    for (const std::string& key : keys)
      (key.starts_with("topology.") ? of_graph_ : others_).push_back(key);
  }
  std::vector<nlohmann::json> graph(const FlatSettings& flat) const { return at(flat, of_graph_); }
  std::vector<nlohmann::json> others(const FlatSettings& flat) const { return at(flat, others_); }

 private:
  static std::vector<nlohmann::json> at(const FlatSettings& flat,
                                        const std::vector<std::string>& keys) {
    std::vector<nlohmann::json> values;
    for (const std::string& key : keys) values.push_back(value_at(flat, key));
    return values;
  }
  std::vector<std::string> of_graph_, others_;
};

/// A sweep point of groups that read the graph.
struct GraphPoint {
  std::vector<nlohmann::json> others, graph;  // values of SweptSettings
  nlohmann::json topology;
};

void add_if_new(std::vector<GraphPoint>& points, GraphPoint point) {
  if (std::ranges::none_of(points, [&](const GraphPoint& known) {
        return known.others == point.others && known.graph == point.graph;
      }))
    points.push_back(std::move(point));
}

template <class Name>
std::size_t index_of(std::vector<Name>& names, const Name& name) {
  const auto found = std::ranges::find(names, name);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  names.push_back(name);
  return names.size() - 1;
}

/// The keys that distinguish points: those that a sweep varies and no search chose.
std::set<std::string> point_keys(const Comparison& comparison) {
  const std::vector<Selection>& selections = comparison.selections;
  if (selections.size() == 1 && chose_for_all(comparison, selections.front()))
    return selections.front().settings();
  std::set<std::string> swept = swept_keys(comparison);
  for (const Selection& selection : selections)
    for (const std::string& key : selection.keys()) swept.erase(key);
  return swept;
}

}  // namespace

bool chose_for_all(const Comparison& comparison, const Selection& selection) {
  return std::ranges::all_of(comparison.groups, [&](const ComparedGroup& group) {
    return selection.choice_of(group.runs_group) != nullptr;
  });
}

bool compared_on_its_seeds(const Comparison& comparison, const Selection& selection) {
  return std::ranges::any_of(comparison.groups, [&](const ComparedGroup& group) {
    const std::set<std::uint64_t> seeds = group.seeds();
    return selection.choice_of(group.runs_group) != nullptr &&
           std::ranges::any_of(selection.seeds,
                               [&](std::uint64_t seed) { return seeds.contains(seed); });
  });
}

void form_groups(Comparison& comparison, const std::vector<ComparedRun>& runs) {
  std::map<std::string, std::size_t> index;
  for (const ComparedRun& run : runs) {
    const auto [found, is_new] = index.emplace(run.summary.group, comparison.groups.size());
    if (is_new) {
      ComparedGroup group;
      group.group = group.runs_group = run.summary.group;
      group.algorithm = run.summary.algorithm;
      group.label = run.summary.label.empty() ? run.summary.algorithm : run.summary.label;
      group.settings = run.settings;
      if (group.settings.is_object()) group.settings.erase("seed");
      group.target = run.target;
      comparison.groups.push_back(std::move(group));
    }
    ComparedGroup& group = comparison.groups[found->second];
    RunRounding rounding = rounding_of(run.summary, run.settings);
    rounding.take_worse(run.rounding);
    group.rounding.take_worse(rounding);
    if (run.summary.state == RunState::finished)
      group.runs.push_back(run.summary);
    else if (run.summary.state == RunState::diverged)
      group.diverged.push_back(run.summary.seed);
    else
      ++group.unfinished;
  }
  for (ComparedGroup& group : comparison.groups) {
    std::stable_sort(group.runs.begin(), group.runs.end(),
                     [](const RunSummary& a, const RunSummary& b) { return a.seed < b.seed; });
    std::ranges::sort(group.diverged);
  }
}

void share_groups(Comparison& comparison) {
  std::vector<ComparedGroup>& groups = comparison.groups;
  if (std::ranges::none_of(groups, reads_no_graph)) return;
  const std::vector<FlatSettings> flat = flat_settings(comparison);
  const SweptSettings swept(point_keys(comparison));
  std::vector<GraphPoint> points;
  for (std::size_t g = 0; g < groups.size(); ++g)
    if (!reads_no_graph(groups[g]))
      add_if_new(points, {swept.others(flat[g]), swept.graph(flat[g]),
                          groups[g].settings.value("topology", nlohmann::json())});
  std::vector<std::pair<std::string, std::string>> names;  // in order of first appearance
  struct Placed {
    std::size_t point, name;
    ComparedGroup group;
  };
  std::vector<Placed> placed;
  std::set<std::string> shared;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    ComparedGroup& group = groups[g];
    const std::size_t name = index_of(names, std::pair(group.algorithm, group.label));
    std::vector<std::size_t> at;
    for (std::size_t p = 0; p < points.size(); ++p)
      if (points[p].others == swept.others(flat[g]) &&
          (reads_no_graph(group) || points[p].graph == swept.graph(flat[g])))
        at.push_back(p);
    if (at.empty()) at.push_back(points.size());
    if (at.size() > 1) shared.insert(group.label);
    for (const std::size_t p : at) {
      Placed one{p, name, group};
      if (p < points.size() && reads_no_graph(group)) {
        one.group.settings["topology"] = points[p].topology;
        if (at.size() > 1) one.group.group = sha256_hex(group.group + points[p].topology.dump());
      }
      placed.push_back(std::move(one));
    }
  }
  std::ranges::stable_sort(placed, [](const Placed& a, const Placed& b) {
    return std::pair(a.point, a.name) < std::pair(b.point, b.name);
  });
  groups.clear();
  for (Placed& one : placed) groups.push_back(std::move(one.group));
  for (const std::string& label : shared) {
    ComparedNote note{
        NoteKind::shared_runs,
        fmt::format("{} reads no graph: its runs were computed once for all graphs", label)};
    for (const ComparedGroup& group : groups)
      if (group.label == label) note.groups.push_back(group.group);
    comparison.notes.push_back(std::move(note));
  }
}

std::set<std::string> swept_keys(const Comparison& comparison) {
  const std::vector<FlatSettings> flat = flat_settings(comparison);
  std::set<std::string> swept = keys_of_labels(comparison, flat);
  drop_implied(swept, flat);
  return swept;
}

void require_settings(const char* option, const std::vector<std::string>& keys,
                      const std::vector<FlatSettings>& flat, const std::set<std::string>& swept) {
  std::set<std::string> known;
  for (const FlatSettings& settings : flat)
    for (const auto& [key, value] : settings) known.insert(key);
  for (const std::string& key : keys)
    if (!known.contains(key)) refuse_key(option, key, known, {swept.begin(), swept.end()});
}

void form_points(Comparison& comparison) {
  const std::vector<FlatSettings> flat = flat_settings(comparison);
  const std::set<std::string> swept = point_keys(comparison);
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

void form_sections(Comparison& comparison, const std::vector<std::string>& by) {
  std::vector<std::string> swept;
  for (const auto& [key, value] : comparison.points.front().settings) swept.push_back(key);
  const std::vector<FlatSettings> flat = flat_settings(comparison);
  require_settings("--by", by, flat, {swept.begin(), swept.end()});

  comparison.by = by;
  for (const std::string& key : swept)
    if (!by.empty() && std::ranges::find(by, key) == by.end()) comparison.columns.push_back(key);
  for (const ComparedPoint& point : comparison.points)
    for (const std::size_t g : point.groups) {
      ComparedSection candidate;
      for (const std::string& key : by.empty() ? swept : by)
        candidate.settings.emplace_back(key, value_at(flat[g], key));
      auto section =
          std::ranges::find(comparison.sections, candidate.settings, &ComparedSection::settings);
      if (section == comparison.sections.end())
        section = comparison.sections.insert(section, std::move(candidate));
      section->groups.push_back(g);
    }
}

void distinguish_labels(Comparison& comparison) {
  for (const ComparedPoint& point : comparison.points) {
    std::map<std::string, std::vector<std::size_t>> by_label;
    for (const std::size_t g : point.groups) by_label[comparison.groups[g].label].push_back(g);
    for (const auto& [label, same] : by_label) {
      if (same.size() < 2) continue;
      std::map<std::size_t, std::string> words;
      for (const std::size_t g : same) {
        const ComparedGroup& group = comparison.groups[g];
        const FlatSettings flat = flatten(group.settings);
        std::string what;
        for (const std::string& key : group.varying)
          if (is_algorithm_key(key) && value_at(flat, key).is_primitive())
            what += fmt::format("{}{} {}", what.empty() ? "" : ", ", key.substr(key.find('.') + 1),
                                value_text(value_at(flat, key)));
        words[g] = what;
      }
      for (const std::size_t g : same) {
        ComparedGroup& group = comparison.groups[g];
        const std::string id = group.group.substr(0, 8);
        const auto is_same = [&](const auto& other) { return other.second == words[g]; };
        const bool tells = !words[g].empty() && std::ranges::count_if(words, is_same) == 1;
        group.label += fmt::format(" ({}{}{})", words[g], words[g].empty() || tells ? "" : ", ",
                                   tells ? "" : id);
      }
    }
  }
}

std::string settings_title(const std::vector<std::pair<std::string, nlohmann::json>>& settings) {
  // Settings of another kind say nothing about this one.
  const auto has_kind = [&](const std::string& key) {
    const std::string kind = table_of_key(key) + ".kind";
    return std::ranges::any_of(settings, [&](const auto& other) { return other.first == kind; });
  };
  std::string title;
  for (const auto& [key, value] : settings)
    if (!value.is_null() || !has_kind(key))
      title += fmt::format("{}{} = {}", title.empty() ? "" : ", ", key, value_text(value));
  if (title.empty() && !settings.empty())
    title = fmt::format("{} = {}", settings.front().first, kNoValue);
  return title;
}

std::string point_title(const ComparedPoint& point) { return settings_title(point.settings); }

}  // namespace acid

// The rows and columns of a sweep, their entries, and the marks on them.
#include "reports/pivot.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "engine/base/error.hpp"
#include "engine/base/names.hpp"
#include "reports/compare.hpp"
#include "reports/compare_formats.hpp"
#include "reports/differences.hpp"
#include "reports/equivalence.hpp"
#include "reports/known_metrics.hpp"
#include "reports/latex.hpp"
#include "reports/numbers.hpp"
#include "reports/settings.hpp"

namespace acid {
namespace {

std::string axis_title(const PivotAxis& axis) {
  const std::string& key = axis.keys.front();
  const std::string last = last_word(key), table = table_of_key(key);
  return (last == "kind" || last == "count") && !table.empty() ? last_word(table) : last;
}

const nlohmann::json& value_of(const ComparedPoint& point, const std::string& key) {
  static const nlohmann::json kNone;
  for (const auto& [name, value] : point.settings)
    if (name == key) return value;
  return kNone;
}

std::vector<std::string> keys_of_list(const std::string& text) {
  std::vector<std::string> keys;
  std::istringstream list(text);
  for (std::string key; std::getline(list, key, ',');)
    if (!key.empty()) keys.push_back(key);
  return keys;
}

/// Removes the axis with this key from `left` and returns it.
PivotAxis take(std::vector<PivotAxis>& left, const std::vector<PivotAxis>& all,
               const std::string& key) {
  const auto is_it = [&](const PivotAxis& axis) {
    return axis.title == key || std::ranges::find(axis.keys, key) != axis.keys.end();
  };
  const auto found = std::ranges::find_if(left, is_it);
  if (found != left.end()) {
    PivotAxis axis = *found;
    left.erase(found);
    return axis;
  }
  if (std::ranges::any_of(all, is_it))
    throw UsageError(fmt::format("--pivot: '{}' is named twice", key));
  std::vector<std::string> known;
  for (const PivotAxis& axis : all) known.insert(known.end(), axis.keys.begin(), axis.keys.end());
  throw UsageError(
      fmt::format("--pivot: '{}' does not vary here; {}", key, did_you_mean(key, known)));
}

/// Texts of one side's axes for every group, and the order of the different ones: values in the
/// order of first appearance, the first axis slowest.
struct Side {
  std::vector<std::vector<std::string>> of_group, ordered;
};

Side side_of(const Comparison& comparison, const std::vector<PivotAxis>& axes) {
  Side side;
  side.of_group.resize(comparison.groups.size());
  std::vector<std::map<std::string, std::size_t>> ranks(axes.size());
  std::set<std::vector<std::size_t>> places;
  std::map<std::vector<std::size_t>, std::vector<std::string>> texts;
  for (const ComparedPoint& point : comparison.points)
    for (const std::size_t g : point.groups) {
      std::vector<std::size_t> place;
      for (std::size_t a = 0; a < axes.size(); ++a) {
        const std::string text = axes[a].title == kAlgorithmAxis ? comparison.groups[g].label
                                                                 : axis_text(axes[a], point);
        place.push_back(ranks[a].emplace(text, ranks[a].size()).first->second);
        side.of_group[g].push_back(text);
      }
      texts[place] = side.of_group[g];
    }
  for (const auto& [place, text] : texts) side.ordered.push_back(text);
  return side;
}

std::size_t index_in(const std::vector<std::vector<std::string>>& all,
                     const std::vector<std::string>& one) {
  return static_cast<std::size_t>(std::ranges::find(all, one) - all.begin());
}

struct Contest {
  std::size_t a, b;  // groups
  PairedDifference difference;
};

/// All pairs of groups with outcomes that share a point. None is tested, nor won, against workers
/// that always agree.
std::vector<Contest> contests_of(const Comparison& comparison, const std::string& metric) {
  std::vector<Contest> contests;
  for (const ComparedPoint& point : comparison.points) {
    if (is_to_target(metric) && point.targets_differ) continue;
    for (std::size_t i = 0; i < point.groups.size(); ++i)
      for (std::size_t j = i + 1; j < point.groups.size(); ++j) {
        const std::size_t a = point.groups[i], b = point.groups[j];
        if (comparison.groups[a].outcomes() == 0 || comparison.groups[b].outcomes() == 0) continue;
        Contest& contest = contests.emplace_back(Contest{a, b, {}});
        if (!always_agrees(comparison.groups[a], metric) &&
            !always_agrees(comparison.groups[b], metric))
          contest.difference =
              tested(paired_by_seed(comparison.groups[a], comparison.groups[b], metric));
      }
  }
  return contests;
}

void find_best(Pivot& pivot, const Comparison& comparison) {
  pivot.best.assign(comparison.groups.size(), false);
  const int better = better_direction(pivot.metric);
  if (better == 0) return;
  const std::vector<Contest> contests = contests_of(comparison, pivot.metric);
  std::vector<double> p;
  for (const Contest& contest : contests)
    if (contest.difference.p) p.push_back(*contest.difference.p);
  pivot.tests = p.size();
  const std::vector<double> adjusted = holm(p);
  std::map<std::size_t, int> rivals, won;
  std::size_t next = 0;
  for (const Contest& contest : contests) {
    ++rivals[contest.a];
    ++rivals[contest.b];
    if (!contest.difference.p) continue;
    if (adjusted[next++] > ComparedDifference::kSignificance) continue;
    if (contest.difference.sign != 0)
      ++won[contest.difference.sign == better ? contest.a : contest.b];
  }
  for (const auto& [group, count] : won) pivot.best[group] = count == rivals[group];
}

}  // namespace

std::vector<PivotAxis> axes_of(const Comparison& comparison) {
  std::vector<PivotAxis> axes;
  const auto& settings = comparison.points.front().settings;
  const auto is_swept = [&](const std::string& key) {
    return std::ranges::any_of(settings, [&](const auto& one) { return one.first == key; });
  };
  for (const auto& [key, value] : settings) {
    const std::string kind = table_of_key(key) + ".kind";
    const bool of_kind = is_swept(kind);
    const auto known = std::ranges::find_if(
        axes, [&](const PivotAxis& axis) { return of_kind && axis.keys.front() == kind; });
    if (known == axes.end()) {
      axes.push_back({"", {of_kind ? kind : key}});
      if (of_kind && key != kind) axes.back().keys.push_back(key);
    } else if (key != kind) {
      known->keys.push_back(key);
    }
  }
  std::map<std::string, int> titles{{std::string(kAlgorithmAxis), 1}};
  for (PivotAxis& axis : axes) ++titles[axis.title = axis_title(axis)];
  std::map<std::string, std::size_t> values;
  for (PivotAxis& axis : axes) {
    if (titles[axis.title] > 1) axis.title = axis.keys.front();
    std::set<std::string> texts;
    for (const ComparedPoint& point : comparison.points) texts.insert(axis_text(axis, point));
    values[axis.title] = texts.size();
  }
  std::ranges::stable_sort(axes, {}, [&](const PivotAxis& axis) { return values[axis.title]; });
  return axes;
}

std::string axis_text(const PivotAxis& axis, const ComparedPoint& point) {
  std::string text;
  for (const std::string& key : axis.keys) {
    const nlohmann::json& value = value_of(point, key);
    if (value.is_null()) continue;
    if (key != axis.keys.front()) text += " " + last_word(key) + " ";
    // Exact, so that no two settings share a cell.
    text += exact_text(value);
  }
  return text.empty() ? std::string(kNoValue) : text;
}

PivotKeys parse_pivot(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos)
    throw UsageError(
        fmt::format("--pivot={}: rows and columns are divided by a colon, as in "
                    "--pivot=topology.kind:algorithm",
                    text));
  return {keys_of_list(text.substr(0, colon)), keys_of_list(text.substr(colon + 1))};
}

Pivot pivot_of(const Comparison& comparison, const std::string& metric, const PivotKeys& keys) {
  Pivot pivot;
  pivot.metric = metric;
  std::vector<PivotAxis> left = axes_of(comparison);
  left.push_back({std::string(kAlgorithmAxis), {std::string(kAlgorithmAxis)}});
  const std::vector<PivotAxis> all = left;
  for (const std::string& key : comparison.by)
    if (std::ranges::any_of(left, [&](const PivotAxis& axis) {
          return std::ranges::find(axis.keys, key) != axis.keys.end();
        }))
      pivot.row_axes.push_back(take(left, all, key));
  pivot.leading = pivot.row_axes.size();
  for (const std::string& key : keys.rows) pivot.row_axes.push_back(take(left, all, key));
  for (const std::string& key : keys.columns) pivot.column_axes.push_back(take(left, all, key));
  for (PivotAxis& axis : left)
    (axis.title == kAlgorithmAxis ? pivot.column_axes : pivot.row_axes).push_back(axis);

  const Side rows = side_of(comparison, pivot.row_axes);
  const Side columns = side_of(comparison, pivot.column_axes);
  pivot.rows = rows.ordered;
  pivot.columns = columns.ordered;
  pivot.cells.assign(pivot.rows.size(),
                     std::vector<std::optional<std::size_t>>(pivot.columns.size()));
  for (std::size_t g = 0; g < comparison.groups.size(); ++g)
    pivot.cells[index_in(pivot.rows, rows.of_group[g])]
               [index_in(pivot.columns, columns.of_group[g])] = g;
  find_best(pivot, comparison);
  for (const ComparedGroup& group : comparison.groups) {
    const auto* const one = find_difference(comparison, group.group, metric);
    pivot.equivalent.push_back(one != nullptr && is_equivalent(*one));
  }
  return pivot;
}

namespace {

std::string pivot_cell(const ComparedGroup& group, const std::string& metric,
                       const PivotNumbers& numbers) {
  Estimate e = group.estimate_of(metric);
  e.mean *= numbers.scale;
  if (e.ci_low) *e.ci_low *= numbers.scale;
  if (e.ci_high) *e.ci_high *= numbers.scale;
  const std::string text = e.n == 0 || (numbers.interval && e.ci_high) ? format_metric(metric, e)
                           : numbers.decimals ? fmt::format("{:.{}f}", e.mean, *numbers.decimals)
                                              : format_metric_value(metric, e.mean);
  if (is_to_target(metric) && !group.target) return "–";
  if (censored(group, metric) > 0) return "reached by " + reached_cell(group, metric);
  const bool whole = e.n == 0 || static_cast<std::size_t>(e.n) == group.outcomes();
  if (group.diverged.empty() && whole) return text;
  return fmt::format("{} ({} of {})", text, e.n, group.outcomes());
}

/// "ring" or, for a number, "Workers 8".
std::string name_in_print(const PivotAxis& axis, const std::string& text) {
  const bool number = text.find_first_not_of("0123456789.e+-") == std::string::npos;
  return number ? readable_name(axis.title) + " " + text : text;
}

std::vector<ReportCell> heads_of(const Pivot& pivot, const Comparison& comparison,
                                 std::size_t column, bool in_print) {
  const std::vector<std::string>& texts = pivot.columns[column];
  if (texts.empty())
    return {{pivot.metric, ReportCell::Kind::words, title_in_print(pivot, comparison)}};
  if (!in_print) return {{fmt::format("{}", fmt::join(texts, ", "))}};
  std::vector<ReportCell> heads;
  for (std::size_t level = 0; level < texts.size(); ++level)
    heads.push_back({texts[level], ReportCell::Kind::words,
                     name_in_print(pivot.column_axes[level], texts[level])});
  return heads;
}

}  // namespace

ReportTable table_of(const Pivot& pivot, const Comparison& comparison, const PivotNumbers& numbers,
                     bool in_print) {
  const std::size_t keys = pivot.row_axes.size();
  ReportTable table{{}, keys, keys, true};
  const auto levels = heads_of(pivot, comparison, 0, in_print).size();
  for (std::size_t a = 0; a < keys; ++a) {
    const std::string& title = pivot.row_axes[a].title;
    ReportColumn column{std::vector<ReportCell>(levels - 1), TextTable::Align::left, {}};
    column.heads.push_back({title, ReportCell::Kind::words, readable_name(title)});
    for (const std::vector<std::string>& row : pivot.rows) column.cells.push_back({row[a]});
    table.columns.push_back(std::move(column));
  }
  for (std::size_t c = 0; c < pivot.columns.size(); ++c) {
    ReportColumn column{heads_of(pivot, comparison, c, in_print), TextTable::Align::right, {}};
    for (const auto& row : pivot.cells) {
      ReportCell cell{"–"};
      if (const auto& g = row[c])
        cell = {pivot_cell(comparison.groups[*g], pivot.metric, numbers), ReportCell::Kind::number,
                "", pivot.best[*g], pivot.equivalent[*g]};
      column.cells.push_back(std::move(cell));
    }
    table.columns.push_back(std::move(column));
  }
  return table;
}

std::string equivalence_legend(const Pivot& pivot, const Comparison& comparison, bool in_percent) {
  const auto found = std::ranges::find_if(
      comparison.differences,
      [&](const ComparedDifference& one) { return one.metric == pivot.metric && one.equivalence; });
  if (found == comparison.differences.end()) return "";
  if (!found->equivalence->p) return "";
  const Margin& margin = found->equivalence->margin;
  const bool points = in_percent && !margin.relative;
  return fmt::format(
      "{}equivalent to {} within {} (two one-sided tests, Holm over {})",
      std::ranges::find(pivot.equivalent, true) == pivot.equivalent.end() ? "none was shown to be "
                                                                          : "",
      group_of(comparison, found->baseline).label,
      points ? Margin{100 * margin.value}.words() + " percentage points" : margin.words(),
      counted(found->family, "comparison"));
}

std::vector<std::string> pivot_metrics(const Comparison& comparison,
                                       const std::vector<std::string>& named) {
  if (!named.empty()) return named;
  if (!comparison.primary.empty()) return {comparison.primary};
  if (comparison.metrics.empty()) return {};
  return {comparison.metrics.front()};
}

}  // namespace acid

// A comparison for programs: JSON, CSV.
#include "reports/compare_formats.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <sstream>

#include "reports/equal_places.hpp"
#include "reports/equivalence.hpp"
#include "reports/known_metrics.hpp"
#include "reports/primary.hpp"
#include "reports/settings.hpp"
#include "reports/tags.hpp"
#include "reports/targets.hpp"
#include "reports/text_table.hpp"
#include "reports/verdict.hpp"

namespace acid {
namespace {

constexpr int kSchemaVersion = 1;
using nlohmann::json;

/// JSON has no numbers that are not finite.
json without_infinities(json value) {
  if (value.is_number_float() && !std::isfinite(value.get<double>())) return nullptr;
  if (value.is_structured())
    for (json& one : value) one = without_infinities(std::move(one));
  return value;
}

template <class Value>
json or_null(const std::optional<Value>& value) {
  return value ? json(*value) : json();
}

/// Infinite: worse than any number.
json or_worst(const std::optional<double>& value) {
  return value && std::isinf(*value) ? json(fmt::format("{}", *value)) : or_null(value);
}

/// The numbers of an estimate, n first.
void add_estimate(json& object, const Estimate& e) {
  object["n"] = e.n;
  object["mean"] = e.n > 0 ? json(e.mean) : json();
  object["sd"] = or_null(e.sd);
  object["se"] = or_null(e.se);
  object["ci_low"] = or_null(e.ci_low);
  object["ci_high"] = or_null(e.ci_high);
}

json metric_json(const ComparedGroup& group, const std::string& name) {
  const Robust robust = group.robust_of(name);
  const Reading read = group.reading_of(name);
  json metric{{"diverged", group.diverged.size()},
              {"median", or_worst(robust.median)},
              {"iqm", or_worst(robust.iqm)},
              {"iqm_ci_low", or_worst(robust.iqm_low)},
              {"iqm_ci_high", or_worst(robust.iqm_high)},
              {"samples_apart", read.apart},
              {"resolution", read.resolution}};
  add_estimate(metric, group.estimate_of(name));
  if (!is_to_target(name) || !group.target) return metric;
  metric["target"] = {{"metric", group.target->metric}, {"value", group.target->value}};
  metric["censored"] = censored(group, name);
  metric["reached"] = static_cast<int>(group.outcomes()) - censored(group, name);
  return metric;
}

bool has_metric(const ComparedGroup& group, const std::string& name) {
  return group.metrics.contains(name) || group.robust.contains(name);
}

json group_json(const ComparedGroup& group, const std::vector<std::string>& metrics) {
  json object{{"group", group.group},
              {"runs_group", group.runs_group},
              {"algorithm", group.algorithm},
              {"label", group.label},
              {"settings", group.settings},
              {"varying", json::object()},
              {"n", group.runs.size()},
              {"diverged", group.diverged.size()},
              {"diverged_seeds", group.diverged},
              {"unfinished", group.unfinished},
              {"runs", json::array()},
              {"seeds", json::array()},
              {"metrics", json::object()}};
  const FlatSettings flat = flatten(group.settings);
  for (const std::string& key : group.varying) object["varying"][key] = value_at(flat, key);
  for (const RunSummary& run : group.runs) {
    object["runs"].push_back(run.id);
    object["seeds"].push_back(run.seed);
  }
  for (const std::string& name : metrics)
    if (has_metric(group, name)) object["metrics"][name] = metric_json(group, name);
  return object;
}

json difference_json(const Comparison& comparison, const ComparedDifference& difference) {
  const ComparedGroup& group = group_of(comparison, difference.group);
  const std::optional<Chance>& chance = difference.improvement;
  const auto equivalence = difference.equivalence.value_or(ComparedDifference::Equivalence{});
  json object{{"group", difference.group},
              {"algorithm", group.algorithm},
              {"label", group.label},
              {"baseline", difference.baseline},
              {"metric", difference.metric},
              {"pairs", difference.value.pairs},
              {"diverged", difference.diverged},
              {"baseline_diverged", difference.baseline_diverged},
              {"test", difference.value.p ? json(name_of(difference.value.test)) : json()},
              {"family", difference.family},
              {"rounding", difference.rounding},
              {"margin", difference.equivalence ? json(equivalence.size) : json()},
              {"p_equivalence", or_null(equivalence.p)},
              {"p_equivalence_holm", or_null(equivalence.p_holm)},
              {"seeds_to_show_equivalent", or_null(equivalence.seeds_to_show)},
              {"seeds_to_show", or_null(difference.seeds_to_show)},
              {"verdict",
               has_verdict(comparison, difference.metric) ? json(verdict_of(difference)) : json()},
              {"simultaneous_ci_low", or_null(difference.simultaneous.ci_low)},
              {"simultaneous_ci_high", or_null(difference.simultaneous.ci_high)},
              {"p", or_null(difference.value.p)},
              {"p_holm", or_null(difference.p_holm)},
              {"improvement", chance ? json(chance->value) : json()},
              {"improvement_ci_low", chance ? or_null(chance->low) : json()},
              {"improvement_ci_high", chance ? or_null(chance->high) : json()}};
  add_estimate(object, difference.value.difference);
  return object;
}

/// The keys of `by` come first.
std::vector<std::string> setting_keys(const Comparison& comparison) {
  std::vector<std::string> keys = comparison.by;
  std::set<std::string> others;
  for (const ComparedGroup& group : comparison.groups)
    for (const std::string& key : group.varying)
      if (std::find(keys.begin(), keys.end(), key) == keys.end()) others.insert(key);
  keys.insert(keys.end(), others.begin(), others.end());
  return keys;
}

/// Columns of the CSV after the settings.
constexpr const char* kCsvColumns =
    "metric n mean sd se ci_low ci_high baseline difference difference_ci_low difference_ci_high p "
    "p_holm improvement median iqm iqm_ci_low iqm_ci_high difference_n improvement_ci_low "
    "improvement_ci_high censored diverged difference_diverged baseline_diverged "
    "simultaneous_ci_low simultaneous_ci_high test family verdict reached samples_apart resolution "
    "selected_by selection_values selection_runs selection_edges selection_gradients "
    "selection_rungs rounding margin p_equivalence "
    "p_equivalence_holm seeds_to_show_equivalent notes seeds_to_show target";

std::vector<std::string> csv_columns() {
  std::istringstream names(kCsvColumns);
  return {std::istream_iterator<std::string>(names), {}};
}

/// By column, as in JSON; what JSON has elsewhere is here too.
json row_json(const Comparison& comparison, const ComparedGroup& group, const std::string& metric) {
  json row = metric_json(group, metric);
  if (const auto* one = find_difference(comparison, group.group, metric)) {
    const json difference = difference_json(comparison, *one);
    row["difference"] = difference.at("mean");
    for (const auto& [key, value] : difference.items())
      row[row.contains(key) ? "difference_" + key : key] = value;
  }
  row["metric"] = metric;
  row["notes"] = note_field(comparison, group.group, metric);
  if (is_to_target(metric)) {
    row["censored"] = censored(group, metric);
    row["reached"] = static_cast<int>(group.outcomes()) - censored(group, metric);
    row["target"] = group.target ? json(target_text(*group.target)) : json();
  }
  for (const Selection& selection : comparison.selections)
    if (const Selection::Choice* const choice = selection.choice_of(group.runs_group)) {
      row["selected_by"] = selection.metric;
      row["selection_values"] = choice->candidates.size();
      row["selection_runs"] = choice->runs();
      row["selection_gradients"] = choice->gradients() > 0 ? json(choice->gradients()) : json();
      row["selection_rungs"] = std::max<std::size_t>(selection.rungs.size(), 1);
      row["selection_edges"] = fmt::format("{}", fmt::join(choice->edges, " "));
      break;
    }
  return row;
}

std::vector<std::string> csv_row(const Comparison& comparison, const ComparedGroup& group,
                                 const std::string& metric, const std::vector<std::string>& keys) {
  std::vector<std::string> fields{group.group, group.algorithm, group.label};
  const FlatSettings flat = flatten(group.settings);
  for (const std::string& key : keys) fields.push_back(exact_text(value_at(flat, key)));
  const json row = row_json(comparison, group, metric);
  for (const std::string& column : csv_columns())
    fields.push_back(exact_text(row.value(column, json())));
  return fields;
}

json equal_json(const Comparison& comparison) {
  json list = json::array();
  for (const EqualPlace& place : comparison.equal) {
    json object{{"axis", name_of(place.axis)},
                {"settings", json::object()},
                {"place", place.place > 0 ? json(place.place) : json()},
                {"at_end", place.at_end},
                {"metric", place.at_end ? comparison.primary : place.metric},
                {"stale", json::array()}};
    for (const auto& [key, value] : comparison.points[place.point].settings)
      object["settings"][key] = value;
    for (const EqualPlace::Stale& stale : place.stale)
      object["stale"].push_back({{"group", comparison.groups[stale.group].group},
                                 {"label", comparison.groups[stale.group].label},
                                 {"run", stale.run},
                                 {"seed", stale.seed},
                                 {"samples_apart", stale.apart}});
    list.push_back(std::move(object));
  }
  return list;
}

}  // namespace

json to_json(const Comparison& comparison) {
  json result{{"schema_version", kSchemaVersion},
              {"heading", comparison.heading},
              {"tagged", to_json(comparison.tagged)},
              {"baseline", comparison.baseline},
              {"metrics", comparison.metrics},
              {"by", comparison.by},
              {"sections", json::array()},
              {"groups", json::array()},
              {"primary", comparison.primary},
              {"verdict", verdict_sentences(comparison)},
              {"differences", json::array()},
              {"ratios", json::array()},
              {"notes", note_texts(comparison)},
              {"caveats", notes_json(comparison)},
              {"selections", json::array()},
              {"equal", equal_json(comparison)}};
  for (const Selection& selection : comparison.selections)
    result["selections"].push_back(to_json(selection));
  for (const ComparedSection& section : comparison.sections) {
    json object{{"settings", json::object()}, {"groups", json::array()}};
    for (const auto& [key, value] : section.settings) object["settings"][key] = value;
    for (const std::size_t g : section.groups)
      object["groups"].push_back(comparison.groups[g].group);
    result["sections"].push_back(std::move(object));
  }
  std::vector<std::string> metrics = comparison.metrics;
  for (const std::string& metric : equal_metrics(comparison))
    if (std::ranges::find(metrics, metric) == metrics.end()) metrics.push_back(metric);
  for (const ComparedGroup& group : comparison.groups)
    result["groups"].push_back(group_json(group, metrics));
  for (const ComparedDifference& difference : comparison.differences)
    result["differences"].push_back(difference_json(comparison, difference));
  for (const ComparedRatio& ratio : comparison.ratios)
    result["ratios"].push_back({{"group", ratio.group},
                                {"label", group_of(comparison, ratio.group).label},
                                {"reference", ratio.reference},
                                {"metric", ratio.metric},
                                {"n", ratio.value.n},
                                {"diverged", ratio.diverged},
                                {"mean", ratio.value.mean},
                                {"ci_low", or_null(ratio.value.ci_low)},
                                {"ci_high", or_null(ratio.value.ci_high)}});
  return without_infinities(std::move(result));
}

std::string to_csv(const Comparison& comparison) {
  const std::vector<std::string> keys = setting_keys(comparison);
  std::vector<std::string> header{"group", "algorithm", "label"};
  header.insert(header.end(), keys.begin(), keys.end());
  const std::vector<std::string> columns = csv_columns();
  header.insert(header.end(), columns.begin(), columns.end());
  std::string text = csv_line(header);
  for (const ComparedGroup& group : comparison.groups)
    for (const std::string& metric : comparison.metrics)
      if (has_metric(group, metric)) text += csv_line(csv_row(comparison, group, metric, keys));
  return text;
}

}  // namespace acid

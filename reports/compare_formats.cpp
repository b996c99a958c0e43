// A comparison for programs: JSON, CSV.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "reports/compare.hpp"
#include "reports/equal_places.hpp"
#include "reports/equivalence.hpp"
#include "reports/known_metrics.hpp"
#include "reports/point_readings.hpp"
#include "reports/primary.hpp"
#include "reports/settings.hpp"
#include "reports/text_table.hpp"
#include "reports/verdict.hpp"

namespace acid {
namespace {

constexpr int kSchemaVersion = 1;
using nlohmann::json;

json number_or_null(std::optional<double> value) {
  return value && std::isfinite(*value) ? json(*value) : json(nullptr);
}

json integer_or_null(std::optional<int> value) { return value ? json(*value) : json(nullptr); }

/// The numbers of an estimate, n first.
void add_estimate(json& object, const Estimate& e) {
  object["n"] = e.n;
  object["mean"] = e.n > 0 ? number_or_null(e.mean) : json(nullptr);
  object["sd"] = number_or_null(e.sd);
  object["se"] = number_or_null(e.se);
  object["ci_low"] = number_or_null(e.ci_low);
  object["ci_high"] = number_or_null(e.ci_high);
}

json group_json(const ComparedGroup& group, const std::vector<std::string>& metrics) {
  json object{{"group", group.group},
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
  for (const std::string& name : metrics) {
    const auto found = group.metrics.find(name);
    const bool any = found != group.metrics.end();
    const auto outcomes = group.robust.find(name);
    if (!any && outcomes == group.robust.end()) continue;
    json& metric = object["metrics"][name];
    add_estimate(metric, any ? found->second : Estimate{});
    metric["diverged"] = group.diverged.size();
    const Robust robust = outcomes == group.robust.end() ? Robust{} : outcomes->second;
    metric["median"] = number_or_null(robust.median);
    metric["iqm"] = number_or_null(robust.iqm);
    metric["iqm_ci_low"] = number_or_null(robust.iqm_low);
    metric["iqm_ci_high"] = number_or_null(robust.iqm_high);
    const auto reading = group.readings.find(name);
    const Reading read = reading == group.readings.end() ? Reading{} : reading->second;
    metric["samples_apart"] = read.apart;
    metric["resolution"] = read.resolution;
    if (!is_to_target(name) || !group.target) continue;
    metric["target"] = {{"metric", group.target->metric}, {"value", group.target->value}};
    metric["censored"] = censored(group, name);
    metric["reached"] = static_cast<int>(group.outcomes()) - censored(group, name);
  }
  return object;
}

std::string csv_number(std::optional<double> value) {
  return value ? fmt::format("{}", *value) : "";
}

std::string csv_integer(std::optional<int> value) { return value ? std::to_string(*value) : ""; }

void add_numbers(std::vector<std::string>& fields, const Estimate& e) {
  fields.push_back(std::to_string(e.n));
  for (const std::optional<double>& value :
       {e.n > 0 ? std::optional(e.mean) : std::nullopt, e.sd, e.se, e.ci_low, e.ci_high})
    fields.push_back(csv_number(value));
}

/// Those of `by` first.
std::vector<std::string> setting_keys(const Comparison& comparison) {
  std::vector<std::string> keys = comparison.by;
  std::set<std::string> others;
  for (const ComparedGroup& group : comparison.groups)
    for (const std::string& key : group.varying)
      if (std::find(keys.begin(), keys.end(), key) == keys.end()) others.insert(key);
  keys.insert(keys.end(), others.begin(), others.end());
  return keys;
}

void add_numbers_or_blanks(std::vector<std::string>& fields,
                           const std::vector<std::optional<double>>& values) {
  for (const std::optional<double>& value : values) fields.push_back(csv_number(value));
}

/// How a difference, which there may not be, was tested.
void add_test(std::vector<std::string>& fields, const Comparison& comparison,
              const ComparedDifference* d) {
  if (d == nullptr) {
    fields.insert(fields.end(), 7, "");
    return;
  }
  fields.push_back(std::to_string(d->diverged));
  fields.push_back(std::to_string(d->baseline_diverged));
  add_numbers_or_blanks(fields, {d->simultaneous.ci_low, d->simultaneous.ci_high});
  fields.emplace_back(d->value.p ? name_of(d->value.test) : "");
  fields.push_back(std::to_string(d->family));
  fields.emplace_back(has_verdict(comparison, d->metric) ? verdict_of(*d) : "");
}

void add_selection(std::vector<std::string>& fields, const Comparison& comparison,
                   const ComparedGroup& group) {
  for (const Selection& selection : comparison.selections)
    if (const Selection::Choice* const choice = selection.choice_of(group.runs_group)) {
      std::string edges;
      for (const std::string& key : choice->edges) edges += (edges.empty() ? "" : " ") + key;
      fields.insert(fields.end(), {selection.metric, std::to_string(choice->candidates.size()),
                                   std::to_string(choice->runs()), edges});
      return;
    }
  fields.insert(fields.end(), 4, "");
}

std::vector<std::string> csv_row(const Comparison& comparison, const ComparedGroup& group,
                                 const std::string& metric, const std::vector<std::string>& keys) {
  std::vector<std::string> fields{group.group, group.algorithm, group.label};
  const FlatSettings flat = flatten(group.settings);
  for (const std::string& key : keys) {
    const json& value = value_at(flat, key);
    fields.push_back(value.is_null() ? "" : value_text(value));
  }
  fields.push_back(metric);
  const auto found = group.metrics.find(metric);
  add_numbers(fields, found == group.metrics.end() ? Estimate{} : found->second);
  const ComparedDifference* const d = find_difference(comparison, group.group, metric);
  const Estimate e = d ? d->value.difference : Estimate{};
  const Chance chance = d && d->improvement ? *d->improvement : Chance{};
  const auto if_any = [&](double value) { return e.n > 0 ? std::optional(value) : std::nullopt; };
  fields.push_back(d ? d->baseline : "");
  if (d)
    add_numbers_or_blanks(fields,
                          {if_any(e.mean), e.ci_low, e.ci_high, d->value.p, d->p_holm,
                           d->improvement ? std::optional(d->improvement->value) : std::nullopt});
  else
    fields.insert(fields.end(), 6, "");
  const auto robust = group.robust.find(metric);
  const Robust r = robust == group.robust.end() ? Robust{} : robust->second;
  add_numbers_or_blanks(fields, {r.median, r.iqm, r.iqm_low, r.iqm_high});
  fields.push_back(d ? std::to_string(e.n) : "");
  add_numbers_or_blanks(fields, {chance.low, chance.high});
  fields.push_back(is_to_target(metric) ? std::to_string(censored(group, metric)) : "");
  fields.push_back(std::to_string(group.diverged.size()));
  add_test(fields, comparison, d);
  fields.push_back(is_to_target(metric) ? std::to_string(static_cast<int>(group.outcomes()) -
                                                         censored(group, metric))
                                        : "");
  const auto reading = group.readings.find(metric);
  const Reading read = reading == group.readings.end() ? Reading{} : reading->second;
  add_numbers_or_blanks(fields, {read.apart, read.resolution});
  add_selection(fields, comparison, group);
  fields.push_back(d ? csv_number(d->rounding) : "");
  const bool has_margin = d != nullptr && d->equivalence.has_value();
  add_numbers_or_blanks(fields, {has_margin ? std::optional(d->equivalence->size) : std::nullopt,
                                 has_margin ? d->equivalence->p : std::nullopt,
                                 has_margin ? d->equivalence->p_holm : std::nullopt});
  fields.push_back(csv_integer(has_margin ? d->equivalence->seeds_to_show : std::nullopt));
  fields.push_back(note_field(comparison, group.group, metric));
  fields.push_back(csv_integer(d ? d->seeds_to_show : std::nullopt));
  fields.push_back(is_to_target(metric) && group.target ? target_text(*group.target) : "");
  return fields;
}

json difference_json(const Comparison& comparison, const ComparedDifference& difference) {
  const ComparedGroup& group = group_of(comparison, difference.group);
  const Chance chance = difference.improvement.value_or(Chance{std::nan(""), {}, {}});
  const auto equivalence = difference.equivalence.value_or(ComparedDifference::Equivalence{});
  json object{
      {"group", difference.group},
      {"algorithm", group.algorithm},
      {"label", group.label},
      {"baseline", difference.baseline},
      {"metric", difference.metric},
      {"pairs", difference.value.pairs},
      {"diverged", difference.diverged},
      {"baseline_diverged", difference.baseline_diverged},
      {"test", difference.value.p ? json(name_of(difference.value.test)) : json()},
      {"family", difference.family},
      {"rounding", number_or_null(difference.rounding)},
      {"margin", difference.equivalence ? number_or_null(difference.equivalence->size) : json()},
      {"p_equivalence", number_or_null(equivalence.p)},
      {"p_equivalence_holm", number_or_null(equivalence.p_holm)},
      {"seeds_to_show_equivalent", integer_or_null(equivalence.seeds_to_show)},
      {"seeds_to_show", integer_or_null(difference.seeds_to_show)},
      {"verdict",
       has_verdict(comparison, difference.metric) ? json(verdict_of(difference)) : json()},
      {"simultaneous_ci_low", number_or_null(difference.simultaneous.ci_low)},
      {"simultaneous_ci_high", number_or_null(difference.simultaneous.ci_high)},
      {"p", number_or_null(difference.value.p)},
      {"p_holm", number_or_null(difference.p_holm)},
      {"improvement", number_or_null(chance.value)},
      {"improvement_ci_low", number_or_null(chance.low)},
      {"improvement_ci_high", number_or_null(chance.high)}};
  add_estimate(object, difference.value.difference);
  return object;
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
                                {"mean", number_or_null(ratio.value.mean)},
                                {"ci_low", number_or_null(ratio.value.ci_low)},
                                {"ci_high", number_or_null(ratio.value.ci_high)}});
  return result;
}

std::string to_csv(const Comparison& comparison) {
  const std::vector<std::string> keys = setting_keys(comparison);
  std::vector<std::string> header{"group", "algorithm", "label"};
  header.insert(header.end(), keys.begin(), keys.end());
  for (const char* name : {"metric",
                           "n",
                           "mean",
                           "sd",
                           "se",
                           "ci_low",
                           "ci_high",
                           "baseline",
                           "difference",
                           "difference_ci_low",
                           "difference_ci_high",
                           "p",
                           "p_holm",
                           "improvement",
                           "median",
                           "iqm",
                           "iqm_ci_low",
                           "iqm_ci_high",
                           "difference_n",
                           "improvement_ci_low",
                           "improvement_ci_high",
                           "censored",
                           "diverged",
                           "difference_diverged",
                           "baseline_diverged",
                           "simultaneous_ci_low",
                           "simultaneous_ci_high",
                           "test",
                           "family",
                           "verdict",
                           "reached",
                           "samples_apart",
                           "resolution",
                           "selected_by",
                           "selection_values",
                           "selection_runs",
                           "selection_edges",
                           "rounding",
                           "margin",
                           "p_equivalence",
                           "p_equivalence_holm",
                           "seeds_to_show_equivalent",
                           "notes",
                           "seeds_to_show",
                           "target"})
    header.emplace_back(name);
  std::string text = csv_line(header);
  for (const ComparedGroup& group : comparison.groups)
    for (const std::string& metric : comparison.metrics)
      if (group.metrics.contains(metric) || group.robust.contains(metric))
        text += csv_line(csv_row(comparison, group, metric, keys));
  return text;
}

}  // namespace acid

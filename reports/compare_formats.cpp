// A comparison for programs and for documents: JSON, CSV, Markdown.
#include <fmt/format.h>

#include <cmath>
#include <set>

#include "reports/compare.hpp"
#include "reports/numbers.hpp"
#include "reports/settings.hpp"

namespace acid {
namespace {

constexpr int kSchemaVersion = 1;
using nlohmann::json;

json number_or_null(std::optional<double> value) {
  return value && std::isfinite(*value) ? json(*value) : json(nullptr);
}

/// The numbers of an estimate, n first.
void add_estimate(json& object, const Estimate& e) {
  object["n"] = e.n;
  object["mean"] = number_or_null(e.mean);
  object["sd"] = number_or_null(e.sd);
  object["se"] = number_or_null(e.se);
  object["ci_low"] = number_or_null(e.ci_low);
  object["ci_high"] = number_or_null(e.ci_high);
}

json group_json(const ComparedGroup& group) {
  json object{{"group", group.group},           {"algorithm", group.algorithm},
              {"label", group.label},           {"settings", group.settings},
              {"varying", json::object()},      {"n", group.runs.size()},
              {"unfinished", group.unfinished}, {"runs", json::array()},
              {"seeds", json::array()},         {"metrics", json::object()}};
  const FlatSettings flat = flatten(group.settings);
  for (const std::string& key : group.varying) object["varying"][key] = value_at(flat, key);
  for (const RunSummary& run : group.runs) {
    object["runs"].push_back(run.id);
    object["seeds"].push_back(run.seed);
  }
  for (const auto& [name, e] : group.metrics) {
    json& metric = object["metrics"][name];
    add_estimate(metric, e);
    const Robust& robust = group.robust.at(name);
    metric["median"] = number_or_null(robust.median);
    metric["iqm"] = number_or_null(robust.iqm);
    metric["iqm_ci_low"] = number_or_null(robust.iqm_low);
    metric["iqm_ci_high"] = number_or_null(robust.iqm_high);
  }
  return object;
}

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::string csv_number(std::optional<double> value) {
  return value ? fmt::format("{}", *value) : "";
}

std::string csv_line(const std::vector<std::string>& fields) {
  std::string line;
  for (const std::string& field : fields) line += csv_field(field) + ",";
  line.back() = '\n';
  return line;
}

void add_numbers(std::vector<std::string>& fields, const Estimate& e) {
  fields.push_back(std::to_string(e.n));
  for (const std::optional<double>& value :
       {std::optional<double>(e.mean), e.sd, e.se, e.ci_low, e.ci_high})
    fields.push_back(csv_number(value));
}

std::vector<std::string> all_varying(const Comparison& comparison) {
  std::set<std::string> keys;
  for (const ComparedGroup& group : comparison.groups)
    keys.insert(group.varying.begin(), group.varying.end());
  return {keys.begin(), keys.end()};
}

std::string markdown_cell(const std::string& text) {
  std::string cell;
  for (const char c : text) {
    if (c == '|' || c == '\\') cell += '\\';
    cell += c == '\n' ? ' ' : c;
  }
  return cell;
}

}  // namespace

json to_json(const Comparison& comparison) {
  json result{{"schema_version", kSchemaVersion}, {"baseline", comparison.baseline},
              {"metrics", comparison.metrics},    {"groups", json::array()},
              {"differences", json::array()},     {"ratios", json::array()},
              {"notes", comparison.notes}};
  for (const ComparedGroup& group : comparison.groups)
    result["groups"].push_back(group_json(group));
  for (const ComparedDifference& difference : comparison.differences) {
    const ComparedGroup& group = group_of(comparison, difference.group);
    json object{{"group", difference.group},
                {"algorithm", group.algorithm},
                {"label", group.label},
                {"baseline", difference.baseline},
                {"metric", difference.metric},
                {"p", number_or_null(difference.value.p)},
                {"p_holm", number_or_null(difference.p_holm)},
                {"improvement", number_or_null(difference.improvement)}};
    add_estimate(object, difference.value.difference);
    result["differences"].push_back(std::move(object));
  }
  for (const ComparedRatio& ratio : comparison.ratios)
    result["ratios"].push_back({{"group", ratio.group},
                                {"label", group_of(comparison, ratio.group).label},
                                {"reference", ratio.reference},
                                {"metric", ratio.metric},
                                {"n", ratio.value.n},
                                {"mean", number_or_null(ratio.value.mean)},
                                {"ci_low", number_or_null(ratio.value.ci_low)},
                                {"ci_high", number_or_null(ratio.value.ci_high)}});
  return result;
}

std::string to_csv(const Comparison& comparison) {
  const std::vector<std::string> varying = all_varying(comparison);
  std::vector<std::string> header{"group", "algorithm", "label"};
  header.insert(header.end(), varying.begin(), varying.end());
  for (const char* name : {"metric", "n", "mean", "sd", "se", "ci_low", "ci_high", "baseline",
                           "difference", "difference_ci_low", "difference_ci_high", "p", "p_holm",
                           "improvement", "median", "iqm", "iqm_ci_low", "iqm_ci_high"})
    header.emplace_back(name);
  std::string text = csv_line(header);
  for (const ComparedGroup& group : comparison.groups)
    for (const std::string& metric : comparison.metrics) {
      const auto found = group.metrics.find(metric);
      if (found == group.metrics.end()) continue;
      std::vector<std::string> fields{group.group, group.algorithm, group.label};
      const FlatSettings flat = flatten(group.settings);
      for (const std::string& key : varying) {
        const json& value = value_at(flat, key);
        fields.push_back(value.is_null() ? "" : value_text(value));
      }
      fields.push_back(metric);
      add_numbers(fields, found->second);
      if (const auto* d = find_difference(comparison, group.group, metric)) {
        const Estimate& e = d->value.difference;
        fields.push_back(d->baseline);
        for (const std::optional<double>& value :
             {std::optional<double>(e.mean), e.ci_low, e.ci_high, d->value.p, d->p_holm,
              d->improvement})
          fields.push_back(csv_number(value));
      } else {
        fields.insert(fields.end(), 7, "");
      }
      const Robust& robust = group.robust.at(metric);
      for (const auto& value : {robust.median, robust.iqm, robust.iqm_low, robust.iqm_high})
        fields.push_back(csv_number(value));
      text += csv_line(fields);
    }
  return text;
}

std::string to_markdown(const Comparison& comparison) {
  std::string text;
  for (const ComparedPoint& point : comparison.points) {
    if (!point.settings.empty()) text += fmt::format("### {}\n\n", point_title(point));
    text += "| algorithm | n |";
    std::string rule = "|---|--:|";
    for (const std::string& metric : comparison.metrics) {
      text += fmt::format(" {} |", metric);
      rule += "--:|";
    }
    text += "\n" + rule + "\n";
    for (const std::size_t g : point.groups) {
      const ComparedGroup& group = comparison.groups[g];
      text += fmt::format("| {} | {} |", markdown_cell(group.label), group.runs.size());
      for (const std::string& metric : comparison.metrics) {
        const auto found = group.metrics.find(metric);
        text += fmt::format(
            " {} |",
            format_metric(metric, found == group.metrics.end() ? Estimate{} : found->second));
      }
      text += "\n";
    }
    text += "\n";
  }
  if (!comparison.differences.empty()) {
    text += fmt::format("Paired differences to {} (mean ± 95 %, exact sign-flip p):\n\n",
                        markdown_cell(comparison.baseline));
    text += "| algorithm | metric | n | difference | p | p (Holm) |\n|---|---|--:|--:|--:|--:|\n";
    for (const ComparedDifference& d : comparison.differences)
      text += fmt::format("| {} | {} | {} | {} | {} | {} |\n",
                          markdown_cell(group_of(comparison, d.group).label), d.metric,
                          d.value.difference.n, format_metric(d.metric, d.value.difference),
                          format_p(d.value.p), format_p(d.p_holm));
    text += "\n";
  }
  for (const std::string& note : comparison.notes) text += fmt::format("- {}\n", note);
  return text;
}

}  // namespace acid

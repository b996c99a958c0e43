#include <fmt/format.h>
#include <fmt/ranges.h>
#include <zlib.h>

#include <nlohmann/json.hpp>
#include <set>

#include "engine/base/error.hpp"
#include "reports/equivalence.hpp"
#include "reports/html/encoding.hpp"
#include "reports/html/markup.hpp"
#include "reports/html/page_data.hpp"
#include "reports/html/page_script.hpp"
#include "reports/html/sections.hpp"
#include "reports/pivot.hpp"
#include "reports/settings.hpp"
#include "reports/verdict.hpp"

namespace acid {
namespace {

/// Text as base64 of a zlib stream (RFC 1950).
std::string packed(std::string_view text) {
  uLongf size = compressBound(text.size());
  std::vector<std::byte> bytes(size);
  const int failed =
      compress2(reinterpret_cast<Bytef*>(bytes.data()), &size,
                reinterpret_cast<const Bytef*>(text.data()), text.size(), Z_BEST_COMPRESSION);
  ACID_ASSERT(failed == Z_OK, "zlib: {}", failed);
  return base64(std::span(bytes).first(size));
}

std::string packed_element(std::string_view attributes, std::string_view text) {
  return fmt::format("<script type=\"application/octet-stream\"{}>{}</script>\n", attributes,
                     packed(text));
}

/// One level below the heading of the section around it, and without the ids of page sections.
std::string as_part(std::string html) {
  for (const auto& [from, to] : {std::pair<std::string_view, std::string_view>{"h3>", "h4>"},
                                 {"h2>", "h3>"},
                                 {"<section id=", "<section class="}})
    for (std::size_t at = 0; (at = html.find(from, at)) != std::string::npos; at += to.size())
      html.replace(at, from.size(), to);
  return html;
}

std::string setting_details(const ReportData& setting) {
  std::string html;
  for (const DrawnSection& section : sections_of(setting, PagePart::one_setting))
    html += section.html;
  return as_part(std::move(html));
}

/// The number of settings at which each algorithm was better, worse, or neither was shown.
std::string counted_verdicts(const ReportData& data) {
  const Comparison& comparison = data.comparison;
  if (std::string words = too_few_words(comparison); !words.empty()) return words;
  std::string rows;
  for (const auto& [label, counts] : judgements_in(comparison, comparison.primary)) {
    std::vector<std::string> parts;
    for (const auto& [judgement, count] : counts)
      parts.push_back(
          fmt::format("{} at {}", verdict_name(comparison, comparison.primary, judgement), count));
    rows += fmt::format("<li><strong>{}</strong> against the baseline: {}.</li>\n", escaped(label),
                        fmt::join(parts, ", "));
  }
  return rows.empty() ? "" : fmt::format("<ul class=\"headline\">\n{}</ul>\n", rows);
}

/// The dotted keys that distinguish the settings, with the value of each.
nlohmann::ordered_json keys_and_values(const ReportData& data) {
  const std::vector<ComparedPoint>& points = data.comparison.points;
  nlohmann::ordered_json keys = nlohmann::ordered_json::array(), values = keys, lines = keys;
  for (const auto& [key, value] : points.front().settings) keys.push_back(key);
  for (const ComparedPoint& point : points) {
    nlohmann::ordered_json row = nlohmann::ordered_json::array();
    for (const auto& [key, value] : point.settings) row.push_back(value_text(value));
    values.push_back(std::move(row));
    lines.push_back(point.groups.size());  // as in the overview's data
  }
  return {{"keys", keys}, {"values", values}, {"lines", lines}};
}

}  // namespace

bool is_sweep(const ReportData& data) {
  return data.comparison.points.size() > kMostDetailedPoints && !page_script().script.empty();
}

ReportData one_setting(const ReportData& data, std::size_t point) {
  const ComparedPoint& chosen = data.comparison.points[point];
  ReportData one;
  one.experiments = data.experiments;
  one.metrics = data.metrics;
  one.axes = data.axes;
  one.detail = data.detail;
  one.detail.drawn_cells = 0;
  one.live = data.live;
  Comparison& comparison = one.comparison;
  comparison.heading = data.comparison.heading;
  comparison.baseline = data.comparison.baseline;
  comparison.primary = data.comparison.primary;
  comparison.plan = data.comparison.plan;
  comparison.metrics = data.comparison.metrics;
  std::set<std::string> digests, runs;  // of groups, and of their runs
  ComparedPoint alone;
  for (const std::size_t g : chosen.groups) {
    if (chosen.baseline == g) alone.baseline = comparison.groups.size();
    if (chosen.consensus_baseline == g) alone.consensus_baseline = comparison.groups.size();
    alone.groups.push_back(comparison.groups.size());
    comparison.groups.push_back(data.comparison.groups[g]);
    digests.insert(comparison.groups.back().group);
    runs.insert(comparison.groups.back().runs_group);
    one.curves.push_back(data.curves[g]);
    one.gradients_per_epoch.push_back(data.gradients_per_epoch[g]);
    one.networks.push_back(data.networks[g]);
    one.styles.push_back(data.styles[g]);
    one.spans.push_back(data.spans[g]);
  }
  for (ComparedNote note : data.comparison.notes) {
    if (note.point && *note.point != point) continue;
    note.point.reset();
    comparison.notes.push_back(std::move(note));
  }
  comparison.sections = {{{}, alone.groups}};
  comparison.points = {std::move(alone)};
  for (const ComparedDifference& difference : data.comparison.differences)
    if (digests.contains(difference.group)) comparison.differences.push_back(difference);
  for (const ComparedRatio& ratio : data.comparison.ratios)
    if (digests.contains(ratio.group)) comparison.ratios.push_back(ratio);
  for (const RunDetail& run : data.runs)
    if (runs.contains(run.summary.group)) one.runs.push_back(run);
  return one;
}

std::string overview_section(const ReportData& data) {
  return counted_verdicts(data) + draw_overview(data).html() + warnings_box(data);
}

std::string packed_details(std::string_view summary, const std::string& html) {
  return details(summary, packed_element(" data-packed=\"html\"", html));
}

std::string setting_section(const ReportData& data) {
  std::string out = fmt::format(
      "<noscript>{}</noscript>\n"
      "<script type=\"application/json\" id=\"acid-settings\">{}</script>\n",
      paragraph("The details of single settings take JavaScript; “acid report” of the runs of one "
                "setting shows them without."),
      in_element(
          keys_and_values(data).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)));
  for (std::size_t p = 0; p < data.comparison.points.size(); ++p) {
    const ReportData setting = one_setting(data, p);
    const nlohmann::ordered_json details{{"html", setting_details(setting)},
                                         {"data", page_data(setting)}};
    out += packed_element(fmt::format(" data-setting=\"{}\"", p),
                          details.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  }
  return out;
}

}  // namespace acid

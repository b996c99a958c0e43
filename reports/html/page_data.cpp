#include "reports/html/page_data.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "reports/html/curve_charts.hpp"
#include "reports/html/encoding.hpp"
#include "reports/html/sections.hpp"
#include "reports/html/timeline.hpp"

namespace acid {
namespace {

using Json = nlohmann::ordered_json;

Json band_json(const Band& band) {
  return {{"x", packed_floats(band.x)},
          {"mean", packed_floats(band.mean)},
          {"low", packed_floats(band.low)},
          {"high", packed_floats(band.high)}};
}

bool is_meant(const CurveAxis& axis, double gradients_per_epoch) {
  return !axis.in_epochs || gradients_per_epoch > 0;
}

Json seed_json(const ReportData& data, const SeedCurve& seed, double per_epoch) {
  std::vector<double> values;
  for (const SeriesPoint& point : seed.points) values.push_back(point.value);
  Json at = Json::object();
  for (const CurveAxis& axis : data.axes) {
    if (!is_meant(axis, per_epoch)) continue;
    std::vector<double> x;
    for (const SeriesPoint& point : seed.points)
      x.push_back(place_on(point.position, axis, per_epoch));
    at[std::string(axis.key)] = packed_floats(x);
  }
  return {{"run", seed.run},
          {"seed", std::to_string(seed.seed)},
          {"value", packed_floats(values)},
          {"at", std::move(at)}};
}

Json group_json(const ReportData& data, std::size_t g, std::size_t m) {
  const GroupCurves& curves = data.curves[g][m];
  Json band = Json::object(), seeds = Json::array();
  for (std::size_t a = 0; a < data.axes.size(); ++a)
    if (is_meant(data.axes[a], data.gradients_per_epoch[g]))
      band[std::string(data.axes[a].key)] = band_json(curves.bands[a]);
  if (data.detail.seeds_shown)
    for (const SeedCurve& seed : curves.seeds)
      seeds.push_back(seed_json(data, seed, data.gradients_per_epoch[g]));
  const Estimate final = final_value(data, g, data.metrics[m].name);
  const auto end = [&](const std::optional<double>& value) {
    return final.n > 0 ? Json(value.value_or(final.mean)) : Json();
  };
  return {{"label", curve_label(data.comparison.groups[g])},
          {"style", data.styles[g]},
          {"n", curves.seeds.size()},
          {"final", {end(final.mean), end(final.ci_low), end(final.ci_high)}},
          {"band", std::move(band)},
          {"seeds", std::move(seeds)}};
}

Json bound_json(const ReportData& data, const ChartBound& bound) {
  Json axes = Json::object();
  for (std::size_t a = 0; a < data.axes.size(); ++a) {
    std::vector<double> x, y;
    for (const CurvePoint& point : bound.on_axes[a]) {
      x.push_back(point.x);
      y.push_back(point.y);
    }
    axes[std::string(data.axes[a].key)] = {{"x", packed_floats(x)}, {"y", packed_floats(y)}};
  }
  return {{"label", bound.label},
          {"note", bound.note},
          {"style", bound.style},
          {"axis", std::move(axes)}};
}

Json chart_json(const ReportData& data, const CurveChart& chart) {
  const Metric& metric = data.metrics[chart.metric];
  Json groups = Json::array(), bounds = Json::array();
  for (const std::size_t g : chart.groups) groups.push_back(group_json(data, g, chart.metric));
  for (const ChartBound& bound : chart.bounds) bounds.push_back(bound_json(data, bound));
  return {{"id", chart.id},
          {"point", chart.point},
          {"metric", metric.name},
          {"title", metric.curve.words},
          {"logarithmic", metric.logarithmic},
          {"folded", metric.folded},
          {"groups", std::move(groups)},
          {"bounds", std::move(bounds)}};
}

Json timeline_json(const TimelineData& timeline) {
  std::vector<double> worker, kind, begin, end;
  for (const TimelineData::Row& row : timeline.rows)
    for (const Span& span : row.spans) {
      worker.push_back(row.worker);
      kind.push_back(static_cast<double>(span.kind));
      begin.push_back(span.begin);
      end.push_back(span.end);
    }
  return {{"id", timeline.id},
          {"label", timeline.label},
          {"style", timeline.style},
          {"workers", timeline.workers},
          {"unit", timeline.unit},
          {"kinds", kSpanNames},
          {"worker", packed_floats(worker)},
          {"kind", packed_floats(kind)},
          {"begin", packed_floats(begin)},
          {"end", packed_floats(end)}};
}

}  // namespace

nlohmann::ordered_json page_data(const ReportData& data) {
  Json axes = Json::array(), charts = Json::array(), lines = Json::array();
  for (const CurveAxis& axis : data.axes)
    axes.push_back({{"key", axis.key}, {"label", axis.label}});
  if (!is_sweep(data)) {
    for (const CurveChart& chart : curve_charts(data)) charts.push_back(chart_json(data, chart));
    for (const TimelineData& timeline : timelines(data)) lines.push_back(timeline_json(timeline));
  }
  return {{"schema", 1},
          {"live", data.live},
          {"axes", std::move(axes)},
          {"charts", std::move(charts)},
          {"timelines", std::move(lines)}};
}

std::string in_element(std::string_view json) {
  std::string text;
  text.reserve(json.size() + 128);
  for (const char c : json) {
    if (c == '<')
      text += "\\u003c";
    else
      text += c;
  }
  return text;
}

std::string data_block(const ReportData& data) {
  return fmt::format(
      "<script type=\"application/json\" id=\"acid-data\">{}</script>\n",
      in_element(page_data(data).dump(-1, ' ', false, Json::error_handler_t::replace)));
}

}  // namespace acid

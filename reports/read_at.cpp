#include "reports/read_at.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string_view>

#include "engine/base/error.hpp"
#include "engine/recorder/metrics.hpp"
#include "reports/numbers.hpp"

namespace acid {
namespace {

struct AxisName {
  Axis axis;
  std::string_view name, unit;
};
constexpr std::array kNames = {AxisName{Axis::gradients, "gradients", "gradients"},
                               AxisName{Axis::normalised_time, "time", "units of normalised time"},
                               AxisName{Axis::seconds, "seconds", "seconds"},
                               AxisName{Axis::bytes, "bytes", "bytes"}};

std::optional<double> number_in(std::string_view text) {
  double value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
    return std::nullopt;
  return value;
}

bool higher_is_better(const std::string& name) {
  const Metric* metric = find_metric(name);
  return metric != nullptr && metric->better > 0;
}

}  // namespace

ReadAt parse_read_at(const std::string& text) {
  if (text == "last") return {};
  if (text == "best") return {.kind = ReadAt::Kind::best};
  const std::size_t equals = text.find('=');
  const std::string name = text.substr(0, equals);
  const auto axis = std::ranges::find(kNames, name, &AxisName::name);
  if (equals == std::string::npos || axis == kNames.end())
    throw UsageError(fmt::format(
        "--at: '{}' is none of last, best, gradients=N, time=T, seconds=S and bytes=B", text));
  const auto value = number_in(std::string_view(text).substr(equals + 1));
  if (!value || *value < 0)
    throw UsageError(fmt::format("--at: '{}' is not a number of {}; write {}=1000, say",
                                 text.substr(equals + 1), axis->unit, axis->name));
  return {ReadAt::Kind::coordinate, axis->axis, *value};
}

std::string describe(const ReadAt& at) {
  if (at.kind == ReadAt::Kind::last) return "";
  if (at.kind == ReadAt::Kind::best)
    return "the best sample of each run, which is picked knowing the outcome";
  return fmt::format("at {} {}, or the last sample before", format_number(at.value, 10),
                     std::ranges::find(kNames, at.axis, &AxisName::axis)->unit);
}

Target parse_target(const std::string& text) {
  const std::size_t equals = text.find('=');
  const auto value = equals == std::string::npos
                         ? std::nullopt
                         : number_in(std::string_view(text).substr(equals + 1));
  if (!value)
    throw UsageError(fmt::format(
        "--target: '{}' is not a metric and the value to reach; write eval_accuracy=0.9, say",
        text));
  return {text.substr(0, equals), *value};
}

std::optional<SeriesPoint> sample_at(std::span<const SeriesPoint> series, const ReadAt& at,
                                     const std::string& metric, const Position& end) {
  if (series.empty()) return std::nullopt;
  const Metric* const known = find_metric(metric);
  if (at.kind == ReadAt::Kind::best && known != nullptr && known->better != 0) {
    // What is not a number is never the best.
    const auto worth = [&](const SeriesPoint& point) {
      return std::isnan(point.value) ? -INFINITY : known->better * point.value;
    };
    return *std::ranges::max_element(series, {}, worth);
  }
  if (at.kind != ReadAt::Kind::coordinate) return series.back();
  if (coordinate(end, at.axis) < at.value) return std::nullopt;
  const auto after = std::find_if(series.begin(), series.end(), [&](const SeriesPoint& point) {
    return coordinate(point.position, at.axis) > at.value;
  });
  if (after == series.begin()) return std::nullopt;
  return *(after - 1);
}

std::optional<SeriesPoint> first_at(std::span<const SeriesPoint> series, const Target& target) {
  const bool higher = higher_is_better(target.metric);
  const auto reached = std::ranges::find_if(series, [&](const SeriesPoint& point) {
    return higher ? point.value >= target.value : point.value <= target.value;
  });
  if (reached == series.end()) return std::nullopt;
  return *reached;
}

}  // namespace acid

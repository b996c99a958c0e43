#include "reports/read_at.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string_view>

#include "engine/base/error.hpp"
#include "reports/known_metrics.hpp"
#include "reports/numbers.hpp"

namespace acid {
namespace {

std::optional<double> number_in(std::string_view text) {
  double value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
    return std::nullopt;
  return value;
}

constexpr std::string_view kEpochs = "epochs";

struct AxisName {
  PositionAxis axis;
  std::string_view name, unit;
  std::optional<double> (*read)(std::string_view text);
};
constexpr std::array kCoordinateNames = {
    AxisName{PositionAxis::gradients, "gradients", "gradients", &read_count},
    AxisName{PositionAxis::normalised_time, "time", "units of normalised time", &number_in},
    AxisName{PositionAxis::seconds, "seconds", "seconds", &read_seconds},
    AxisName{PositionAxis::bytes, "bytes", "bytes", &read_bytes},
    AxisName{PositionAxis::gradients, kEpochs, "epochs", &number_in}};

}  // namespace

ReadAt parse_read_at(const std::string& text) {
  if (text == "last") return {};
  if (text == "best") return {.kind = ReadAt::Kind::best};
  const std::size_t equals = text.find('=');
  const std::string name = text.substr(0, equals);
  const auto axis = std::ranges::find(kCoordinateNames, name, &AxisName::name);
  if (equals == std::string::npos || axis == kCoordinateNames.end())
    throw UsageError(fmt::format(
        "--at: '{}' is none of last, best, gradients=N, epochs=E, time=T, seconds=S and bytes=B",
        text));
  const auto value = axis->read(std::string_view(text).substr(equals + 1));
  if (!value || *value < 0)
    throw UsageError(fmt::format("--at: '{}' is not a number of {}; write {}=1000, say",
                                 text.substr(equals + 1), axis->unit, axis->name));
  return {ReadAt::Kind::coordinate, axis->axis, *value, axis->name == kEpochs};
}

std::string describe(const ReadAt& at) {
  if (at.kind == ReadAt::Kind::last) return "";
  if (at.kind == ReadAt::Kind::best)
    return "at the best sample of each run, which is picked knowing the outcome; what has no "
           "better "
           "direction at the last";
  return fmt::format("at {}, on the line between the samples around it", place_of(at));
}

std::string place_of(const ReadAt& at) {
  if (at.in_epochs) return fmt::format("{:.10g} {}", at.value, kEpochs);
  return fmt::format("{:.10g} {}", at.value, unit_of(at.axis));
}

std::string_view name_of(PositionAxis axis) {
  return std::ranges::find(kCoordinateNames, axis, &AxisName::axis)->name;
}

std::string_view unit_of(PositionAxis axis) {
  return std::ranges::find(kCoordinateNames, axis, &AxisName::axis)->unit;
}

double coordinate(const Position& position, PositionAxis axis) {
  switch (axis) {
    case PositionAxis::gradients:
      return static_cast<double>(position.gradients);
    case PositionAxis::normalised_time:
      return position.normalised_time;
    case PositionAxis::seconds:
      return position.seconds;
    case PositionAxis::bytes:
      return static_cast<double>(position.bytes);
  }
  ACID_ASSERT(false, "axis {}", static_cast<int>(axis));
}

double between(double a, double b, double share) { return a + (b - a) * share; }

Position between(const Position& a, const Position& b, double share) {
  const auto whole = [&](std::int64_t from, std::int64_t to) {
    return std::llround(between(static_cast<double>(from), static_cast<double>(to), share));
  };
  return {.gradients = whole(a.gradients, b.gradients),
          .normalised_time = between(a.normalised_time, b.normalised_time, share),
          .seconds = between(a.seconds, b.seconds, share),
          .bytes = whole(a.bytes, b.bytes)};
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
  const std::string metric = text.substr(0, equals);
  if (known_metric(metric) == nullptr)
    throw UsageError(fmt::format(
        "--target: nobody told acid whether a high or a low '{}' is better, so it cannot tell when "
        "a run has reached it; targets are of what acid measures itself, such as eval_accuracy",
        metric));
  return {metric, *value};
}

}  // namespace acid

#include "reports/reading.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "reports/numbers.hpp"

namespace acid {
namespace {

double largest_step(const SamplesAround& around) {
  std::vector<double> values;
  for (auto one = around.until.rbegin(); one != around.until.rend(); ++one)
    values.push_back(one->value);
  for (const SeriesPoint& one : around.beyond) values.push_back(one.value);
  double largest = 0;
  for (std::size_t k = 1; k < values.size(); ++k)
    if (const double step = std::abs(values[k] - values[k - 1]); std::isfinite(step))
      largest = std::max(largest, step);
  return largest;
}

/// Half of f'' through three points, Newton's second divided difference; 0 where two coincide.
double half_curvature(std::array<double, 3> x, std::array<double, 3> y) {
  if (x[0] == x[1] || x[1] == x[2] || x[0] == x[2]) return 0;
  const double first = (y[1] - y[0]) / (x[1] - x[0]), second = (y[2] - y[1]) / (x[2] - x[1]);
  return (second - first) / (x[2] - x[0]);
}

double bend_at(const SamplesAround& around, PositionAxis axis, double place) {
  if (around.until.empty() || around.beyond.empty()) return 0;
  const SeriesPoint &a = around.until[0], &b = around.beyond[0];
  const double from = coordinate(a.position, axis), to = coordinate(b.position, axis);
  std::vector<double> halves;
  const auto add = [&](const SeriesPoint& other) {
    const double half = half_curvature({from, to, coordinate(other.position, axis)},
                                       {a.value, b.value, other.value});
    if (std::isfinite(half)) halves.push_back(half);
  };
  if (around.until.size() > 1) add(around.until[1]);
  if (around.beyond.size() > 1) add(around.beyond[1]);
  double sum = 0;
  for (const double half : halves) sum += half;
  return halves.empty() ? 0
                        : (place - from) * (to - place) * sum / static_cast<double>(halves.size());
}

}  // namespace

Reading Reading::worse(const Reading& a, const Reading& b) {
  return {std::max(a.apart, b.apart), std::max(a.resolution, b.resolution),
          std::abs(a.bend) > std::abs(b.bend) ? a.bend : b.bend};
}

std::optional<ReadValue> read_between(const SamplesAround& around, PositionAxis axis, double place,
                                      double end, double widest) {
  if (around.until.empty()) return std::nullopt;
  ReadValue read;
  const SeriesPoint& before = around.until.front();
  const double from = coordinate(before.position, axis);
  double there = before.value;
  const bool exact = from == place || (around.beyond.empty() && from >= end);
  if (!exact) {
    const double to = around.beyond.empty() ? std::max(place, end)
                                            : coordinate(around.beyond.front().position, axis);
    read.reading = {to - from, largest_step(around), bend_at(around, axis, place)};
    read.too_far = to - from > widest * place;
    if (!around.beyond.empty())
      there = between(before.value, around.beyond.front().value, (place - from) / (to - from));
  }
  if (!read.too_far && std::isfinite(there)) read.value = there;
  return read;
}

std::string format_on(PositionAxis axis, double value) {
  if (axis == PositionAxis::seconds) return format_seconds(value);
  if (axis == PositionAxis::bytes) return format_bytes(value);
  return fmt::format("{} {}", format_number(value), unit_of(axis));
}

}  // namespace acid

#include "reports/reading.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

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

}  // namespace

Reading Reading::worse(const Reading& a, const Reading& b) {
  return {std::max(a.apart, b.apart), std::max(a.resolution, b.resolution)};
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
    read.reading = {to - from, largest_step(around)};
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

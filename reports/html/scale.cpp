#include "reports/html/scale.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "reports/html/font.hpp"

namespace acid {
namespace {

std::vector<double> linear_ticks(const Scale& scale, int wanted) {
  const double raw = (scale.high - scale.low) / wanted;
  const double power = std::pow(10.0, std::floor(std::log10(raw)));
  const double ratio = raw / power;
  const double step = (ratio <= 1 ? 1 : ratio <= 2 ? 2 : ratio <= 5 ? 5 : 10) * power;
  std::vector<double> values;
  const double slack = 1e-9 * (scale.high - scale.low);
  for (double k = std::ceil((scale.low - slack) / step); k * step <= scale.high + slack; ++k)
    values.push_back(k == 0 ? 0.0 : k * step);
  return values;
}

std::vector<double> logarithmic_ticks(const Scale& scale, int wanted) {
  const double first = std::floor(std::log10(scale.low)), last = std::ceil(std::log10(scale.high));
  const double decades = std::log10(scale.high / scale.low);
  const int every = std::max(1, static_cast<int>(std::ceil(decades / wanted)));
  std::vector<double> values;
  const auto add = [&](double value) {
    if (value >= scale.low * (1 - 1e-9) && value <= scale.high * (1 + 1e-9))
      values.push_back(value);
  };
  for (double decade = first; decade <= last; ++decade) {
    if (std::fmod(std::abs(decade), every) != 0) continue;
    const double power = std::pow(10.0, decade);
    add(power);
    if (decades > 2) continue;
    add(2 * power);
    add(5 * power);
  }
  // A range of less than a factor of two may contain no such value.
  return values.size() >= 2 ? values : linear_ticks(scale, wanted);
}

int exponent_of(double value) {
  return value == 0 ? 0 : static_cast<int>(std::floor(std::log10(std::abs(value))));
}

/// "1.50e-05" → "1.5e-05", "1.00e-05" → "1e-05".
std::string without_zeros(std::string text) {
  const std::size_t exponent = text.find('e');
  if (exponent == std::string::npos || text.find('.') > exponent) return text;
  std::size_t end = exponent;
  while (text[end - 1] == '0') --end;
  if (text[end - 1] == '.') --end;
  return text.erase(end, exponent - end);
}

}  // namespace

double Scale::operator()(double value) const {
  const double share =
      logarithmic ? std::log(value / low) / std::log(high / low) : (value - low) / (high - low);
  return begin + share * (end - begin);
}

Scale fitted(double lowest, double highest, bool logarithmic) {
  Scale scale;
  scale.logarithmic = logarithmic;
  if (logarithmic) {
    const double margin = highest > lowest ? std::pow(highest / lowest, 0.04) : 2;
    scale.low = lowest / margin;
    scale.high = highest * margin;
    return scale;
  }
  const double magnitude = std::max(std::abs(lowest), std::abs(highest));
  const bool flat = highest - lowest <= 1e-12 * magnitude;
  const double margin = flat ? (magnitude > 0 ? 0.1 * magnitude : 1) : 0.04 * (highest - lowest);
  scale.low = lowest >= 0 ? std::max(0.0, lowest - margin) : lowest - margin;
  scale.high = highest <= 0 && lowest < 0 ? std::min(0.0, highest + margin) : highest + margin;
  return scale;
}

std::vector<double> ticks(const Scale& scale, int wanted) {
  return scale.logarithmic ? logarithmic_ticks(scale, wanted) : linear_ticks(scale, wanted);
}

std::vector<Tick> named_ticks(const Scale& scale, int wanted, TickFormat format) {
  constexpr int kFewestDigits = 3, kMostDigits = 12;
  std::vector<Tick> all;
  double gap = std::numeric_limits<double>::infinity();
  for (const double value : ticks(scale, wanted)) {
    if (!all.empty()) gap = std::min(gap, std::abs(value - all.back().value));
    all.push_back({value, ""});
  }
  for (int more = 0; more <= kMostDigits - kFewestDigits; ++more) {
    for (auto& [value, text] : all) {
      const int needed = std::isfinite(gap) ? exponent_of(value) - exponent_of(gap) + 1 : 0;
      const int digits = std::min(kMostDigits, std::max(kFewestDigits, needed) + more);
      text = without_zeros(format(value, digits));
    }
    if (std::ranges::adjacent_find(all, {}, &Tick::text) == all.end()) break;
  }
  return all;
}

double tick_width(const Tick& tick) {
  constexpr double kSize = 10.5;
  return text_width(with_minus(tick.text), kSize);
}

std::vector<Tick> named_ticks_along(const Scale& scale, int wanted, TickFormat format) {
  constexpr double kApart = 3;
  const auto touch = [&](const Tick& a, const Tick& b) {
    const double room = (tick_width(a) + tick_width(b)) / 2 + kApart;
    return scale(b.value) - scale(a.value) < room;
  };
  for (; wanted > 1; --wanted) {
    std::vector<Tick> all = named_ticks(scale, wanted, format);
    if (std::ranges::adjacent_find(all, touch) == all.end()) return all;
  }
  return named_ticks(scale, wanted, format);
}

Shapes axis_below(const Scale& x, double bottom, int wanted, std::string_view name,
                  double name_below, Shapes between) {
  std::string marks;
  Shapes out, labels;
  for (const auto& [value, text] : named_ticks_along(x, wanted)) {
    marks += path_of("M{} {}v4", x(value), bottom);
    labels.text(x(value), bottom + 15, "middle", with_minus(text));
  }
  out.path("grid", marks);
  out.path("axis", path_of("M{} {}H{}", x.begin, bottom, x.end)).ends_line = true;
  out.add(std::move(between));
  out.add(std::move(labels));
  out.text((x.begin + x.end) / 2, bottom + name_below, "middle", name, "name");
  return out;
}

}  // namespace acid

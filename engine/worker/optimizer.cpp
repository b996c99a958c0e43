#include "engine/worker/optimizer.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace acid {

std::vector<DecayRange> decay_ranges(const OptimizerSettings& settings,
                                     std::span<const Segment> segments, std::size_t dimension) {
  if (settings.decay_one_dimensional || settings.weight_decay == 0)
    return {{0, dimension, settings.weight_decay}};
  std::vector<DecayRange> ranges;
  for (const Segment& segment : segments) {
    const double decay = segment.shape.size() > 1 ? settings.weight_decay : 0;
    const auto begin = static_cast<std::size_t>(segment.offset);
    const auto end = begin + static_cast<std::size_t>(segment.size);
    if (!ranges.empty() && ranges.back().decay == decay)
      ranges.back().end = end;
    else
      ranges.push_back({begin, end, decay});
  }
  return ranges;
}

double Schedule::rate(double progress) const {
  const double peak = learning_rate * scale;
  if (progress < warmup) {
    const double start = scale > 1 ? learning_rate : 0;
    return start + (peak - start) * progress / warmup;
  }
  switch (kind) {
    case ScheduleKind::constant:
      return peak;
    case ScheduleKind::step: {
      const auto passed = std::count_if(milestones.begin(), milestones.end(),
                                        [=](double milestone) { return milestone <= progress; });
      return peak * std::pow(gamma, static_cast<double>(passed));
    }
    case ScheduleKind::cosine: {
      const double phase = (progress - warmup) / (1 - warmup);
      return peak * (minimum + (1 - minimum) * (1 + std::cos(std::numbers::pi * phase)) / 2);
    }
    case ScheduleKind::inverse_sqrt: {
      // Without warm-up the decay is counted from 1 % of the budget, before which it is flat.
      const double knee = warmup > 0 ? warmup : 0.01;
      return peak * std::sqrt(knee / std::max(progress, knee));
    }
  }
  return peak;
}

}  // namespace acid

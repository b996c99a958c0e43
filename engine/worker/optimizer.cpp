#include "engine/worker/optimizer.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace acid {

bool is_named(std::string_view tensor, std::span<const std::string> texts) {
  return std::ranges::any_of(
      texts, [&](const std::string& text) { return tensor.find(text) != std::string_view::npos; });
}

std::vector<DecayRange> decay_ranges(const OptimizerSettings& settings,
                                     std::span<const Segment> segments, std::size_t dimension) {
  const bool spares = !settings.decay_one_dimensional || !settings.no_decay.empty();
  if (!spares || settings.weight_decay == 0) return {{0, dimension, settings.weight_decay}};
  std::vector<DecayRange> ranges;
  for (const Segment& segment : segments) {
    const bool spared = (segment.shape.size() < 2 && !settings.decay_one_dimensional) ||
                        is_named(segment.name, settings.no_decay);
    const double decay = spared ? 0 : settings.weight_decay;
    const auto begin = static_cast<std::size_t>(segment.offset);
    const auto end = begin + static_cast<std::size_t>(segment.size);
    if (!ranges.empty() && ranges.back().decay == decay)
      ranges.back().end = end;
    else
      ranges.push_back({begin, end, decay});
  }
  return ranges;
}

std::vector<MatrixRange> matrix_ranges(const OptimizerSettings& settings,
                                       std::span<const Segment> segments) {
  std::vector<MatrixRange> ranges;
  if (settings.kind != OptimizerKind::muon) return ranges;
  for (const Segment& segment : segments) {
    if (segment.shape.size() < 2 || segment.size == 0 ||
        is_named(segment.name, settings.sgd_tensors))
      continue;
    const auto rows = static_cast<std::size_t>(segment.shape.front());
    ranges.push_back({static_cast<std::size_t>(segment.offset), rows,
                      static_cast<std::size_t>(segment.size) / rows});
  }
  return ranges;
}

double Schedule::rate(double progress) const {
  const double peak = learning_rate * scale;
  if (progress < warmup) {
    const double start = warmup_from ? *warmup_from * peak : scale > 1 ? learning_rate : 0;
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
      // Without warm-up the decay begins at 1 % of the budget; before that the rate is constant.
      const double knee = warmup > 0 ? warmup : 0.01;
      return peak * std::sqrt(knee / std::max(progress, knee));
    }
  }
  return peak;
}

}  // namespace acid

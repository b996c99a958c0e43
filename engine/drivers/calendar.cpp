#include "engine/drivers/calendar.hpp"

namespace acid {
namespace {

// Moments that differ by rounding only are one: multiples of two cadences, or of one that is finer.
constexpr double kRounding = 1e-9;
double rounding(double now) { return kRounding * std::max(1.0, std::abs(now)); }

double moment(double every, std::int64_t count) {
  return count == 0 ? 0 : std::max(every, kRounding) * static_cast<double>(count);
}

/// How many multiples of `every` lie at `now` or before, 0 among them.
std::int64_t multiples_until(double every, double now) {
  constexpr double kMost = 1e18;
  return static_cast<std::int64_t>(
             std::min(kMost, std::floor((now + rounding(now)) / std::max(every, kRounding)))) +
         1;
}

}  // namespace

double Calendar::next() const {
  if (by_clock()) return kNever;
  return std::min(moment(cadence_->consensus_every, consensus_count_),
                  moment(cadence_->evaluate_every, evaluation_count_));
}

double Calendar::next_seconds() const {
  return by_clock() ? moment(cadence_->every_seconds, evaluation_count_) : kNever;
}

bool Calendar::due(const Position& here) const {
  if (const auto& places = cadence_->at_gradients)
    return std::binary_search(places->begin(), places->end(), here.gradients);
  if (by_clock()) return here.seconds >= next_seconds();
  return here.normalised_time >= next() - rounding(here.normalised_time);
}

bool Calendar::evaluates() const {
  if (by_clock()) return true;
  const double next = this->next();
  return std::abs(moment(cadence_->evaluate_every, evaluation_count_) - next) <= rounding(next);
}

void Calendar::pass(const Position& here) {
  if (by_clock()) {
    evaluation_count_ =
        std::max(evaluation_count_ + 1, multiples_until(cadence_->every_seconds, here.seconds));
    return;
  }
  const double now = std::max(next(), here.normalised_time);
  consensus_count_ = std::max(consensus_count_, multiples_until(cadence_->consensus_every, now));
  evaluation_count_ = std::max(evaluation_count_, multiples_until(cadence_->evaluate_every, now));
}

}  // namespace acid

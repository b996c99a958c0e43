#include "engine/run/sample_times.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace acid {
namespace {

// Moments that differ by no more than this are equal: they differ by rounding only.
constexpr double kRounding = 1e-9;
double rounding(double now) { return kRounding * std::max(1.0, std::abs(now)); }

double moment(double every, std::int64_t count) {
  return count == 0 ? 0 : std::max(every, kRounding) * static_cast<double>(count);
}

/// The number of multiples of `every` in [0, now].
std::int64_t multiples_until(double every, double now) {
  constexpr double kMost = 1e18;
  return static_cast<std::int64_t>(
             std::min(kMost, std::floor((now + rounding(now)) / std::max(every, kRounding)))) +
         1;
}

/// Moves `count` past the samples that were due by now, at least `taken` of them. All but one were
/// skipped.
SkippedSamples pass_by_clock(double every, std::int64_t& count, double now, int taken) {
  const std::int64_t until = std::max(count + taken, multiples_until(every, now));
  const std::int64_t due = until - std::exchange(count, until);
  const std::int64_t skipped = std::max<std::int64_t>(0, due - 1);
  return {skipped, skipped};
}

}  // namespace

double SampleTimes::next() const {
  if (by_clock()) return kNever;
  return std::min(moment(cadence_->consensus_every, consensus_count_),
                  moment(cadence_->evaluate_every, evaluation_count_));
}

double SampleTimes::next_seconds() const {
  return by_clock() ? moment(cadence_->every_seconds, evaluation_count_) : kNever;
}

bool SampleTimes::due(const Position& here) const {
  if (const auto& places = cadence_->at_gradients)
    return std::binary_search(places->begin(), places->end(), here.gradients);
  if (by_clock()) return here.seconds >= next_seconds();
  return here.normalised_time >= next() - rounding(here.normalised_time);
}

bool SampleTimes::evaluates() const {
  if (by_clock()) return true;
  const double next = this->next();
  return std::abs(moment(cadence_->evaluate_every, evaluation_count_) - next) <= rounding(next);
}

SampleTimes::Passed SampleTimes::move_on(double every, std::int64_t& count, double now,
                                         int workers) {
  const std::int64_t until = std::max(count, multiples_until(every, now));
  if (until == count) return {};
  const auto gradients = [workers](double time) { return std::ceil(time * workers - kRounding); };
  const double between = gradients(now) - gradients(moment(every, count)) + 1;
  const Passed passed{std::min(until - count, static_cast<std::int64_t>(between)),
                      gradients(moment(every, until - 1)) >= gradients(now)};
  count = until;
  return passed;
}

SkippedSamples SampleTimes::pass(const Position& here, int workers) {
  if (by_clock()) return pass_by_clock(cadence_->every_seconds, evaluation_count_, here.seconds, 1);
  const double due = next(), now = std::max(due, here.normalised_time);
  const auto skipped = [&](double every, std::int64_t& count) {
    const bool taken = std::abs(moment(every, count) - due) <= rounding(due);
    return move_on(every, count, now, workers).places - (taken ? 1 : 0);
  };
  return {skipped(cadence_->consensus_every, consensus_count_),
          skipped(cadence_->evaluate_every, evaluation_count_)};
}

SkippedSamples SampleTimes::end(const Position& here, int workers) {
  if (by_clock()) return pass_by_clock(cadence_->every_seconds, evaluation_count_, here.seconds, 0);
  const auto skipped = [&](double every, std::int64_t& count) {
    const Passed passed = move_on(every, count, here.normalised_time, workers);
    return passed.places - (passed.now ? 1 : 0);
  };
  return {skipped(cadence_->consensus_every, consensus_count_),
          skipped(cadence_->evaluate_every, evaluation_count_)};
}

}  // namespace acid

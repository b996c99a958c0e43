#include "engine/run/sample_times.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace acid {
namespace {

// Moments that differ by no more than this are equal: they differ by rounding only.
constexpr double kRounding = 1e-9;
double rounding(double now) { return kRounding * std::max(1.0, std::abs(now)); }

// Number `count` of the multiples of a cadence; ascends.
struct Multiples {
  double every;
  double operator()(std::int64_t count) const {
    return count == 0 ? 0 : std::max(every, kRounding) * static_cast<double>(count);
  }
  // How many there are in [0, now].
  double until(double now) const { return std::floor(now / std::max(every, kRounding)) + 1; }
};

// Number `count` of the samples of Cadence::consensus_samples: s·k + (T − s·N)·(k/N)², with N
// samples until T and the first distance s. Where s is a unit of normalised time, moments are
// rounded to whole units: workers of one speed then end their gradients together, and consensus
// distances, which rise there and fall until the next ones, are all read at one phase.
struct Spread {
  double samples, end;
  double first() const { return std::min(1.0, end / samples); }
  double growth() const { return (end - first() * samples) / (samples * samples); }
  double operator()(std::int64_t count) const {
    const auto k = static_cast<double>(count);
    const double moment = first() * k + growth() * k * k;
    return first() < 1 ? moment : std::floor(moment + 0.5);
  }
  double until(double now) const {
    const double s = first(), a = growth();
    auto k = static_cast<std::int64_t>(2 * now / (s + std::sqrt(s * s + 4 * a * now)));
    while (k > 0 && (*this)(k) > now) --k;
    while ((*this)(k + 1) <= now) ++k;
    return static_cast<double>(k + 1);
  }
};

/// The number of moments in [0, now].
template <class Moments>
std::int64_t moments_until(const Moments& moment, double now) {
  constexpr double kMost = 1e18;
  return static_cast<std::int64_t>(std::min(kMost, moment.until(now + rounding(now))));
}

// Calls use(moments) with the samples of the consensus distance.
template <class Use>
auto with_consensus_moments(const Cadence& cadence, const Use& use) {
  return cadence.consensus_samples > 0
             ? use(Spread{static_cast<double>(cadence.consensus_samples), cadence.end})
             : use(Multiples{cadence.consensus_every});
}

/// Moves `count` past the samples that were due by now, at least `taken` of them. All but one were
/// skipped.
SkippedSamples pass_by_clock(double every, std::int64_t& count, double now, int taken) {
  const std::int64_t until = std::max(count + taken, moments_until(Multiples{every}, now));
  const std::int64_t due = until - std::exchange(count, until);
  const std::int64_t skipped = std::max<std::int64_t>(0, due - 1);
  return {skipped, skipped};
}

}  // namespace

double SampleTimes::next_of_consensus() const {
  return with_consensus_moments(*cadence_,
                                [this](const auto& moment) { return moment(consensus_count_); });
}

double SampleTimes::next() const {
  if (cadence_->by_clock()) return kNever;
  return std::min(next_of_consensus(), Multiples{cadence_->evaluate_every}(evaluation_count_));
}

double SampleTimes::next_seconds() const {
  return cadence_->by_clock() ? Multiples{cadence_->every_seconds}(evaluation_count_) : kNever;
}

bool SampleTimes::due(const Position& here) const {
  if (const auto& places = cadence_->at_gradients)
    return std::binary_search(places->begin(), places->end(), here.gradients);
  if (cadence_->by_clock()) return here.seconds >= next_seconds();
  return here.normalised_time >= next() - rounding(here.normalised_time);
}

bool SampleTimes::evaluates(double time) const {
  if (cadence_->by_clock()) return true;
  const double now = std::max(time, next());
  return Multiples{cadence_->evaluate_every}(evaluation_count_) <= now + rounding(now);
}

template <class Moments>
SampleTimes::Passed SampleTimes::move_on(const Moments& moment, std::int64_t& count, double now,
                                         int workers) {
  const std::int64_t until = std::max(count, moments_until(moment, now));
  if (until == count) return {};
  const auto gradients = [workers](double time) { return std::ceil(time * workers - kRounding); };
  const double between = gradients(now) - gradients(moment(count)) + 1;
  const Passed passed{std::min(until - count, static_cast<std::int64_t>(between)),
                      gradients(moment(until - 1)) >= gradients(now)};
  count = until;
  return passed;
}

template <class Skipped>
SkippedSamples SampleTimes::move_both(double now, int workers, const Skipped& skipped) {
  const std::int64_t samples = with_consensus_moments(*cadence_, [&](const auto& moment) {
    return skipped(move_on(moment, consensus_count_, now, workers));
  });
  const Multiples evaluations{cadence_->evaluate_every};
  return {samples, skipped(move_on(evaluations, evaluation_count_, now, workers))};
}

SkippedSamples SampleTimes::pass(const Position& here, int workers) {
  if (cadence_->by_clock())
    return pass_by_clock(cadence_->every_seconds, evaluation_count_, here.seconds, 1);
  const double now = std::max(next(), here.normalised_time);
  return move_both(now, workers, [](const Passed& passed) {
    return std::max<std::int64_t>(0, passed.places - 1);
  });
}

SkippedSamples SampleTimes::end(const Position& here, int workers) {
  if (cadence_->by_clock())
    return pass_by_clock(cadence_->every_seconds, evaluation_count_, here.seconds, 0);
  return move_both(here.normalised_time, workers,
                   [](const Passed& passed) { return passed.places - (passed.now ? 1 : 0); });
}

}  // namespace acid

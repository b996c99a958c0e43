#include "engine/drivers/mpi/round_coordinator.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/run/ensemble.hpp"

namespace acid {
namespace {

// A decision takes effect as many rounds late as rank 0 is ahead: just enough to hide the time in
// which the end of a round is told to rank 0 and its decision comes back.
constexpr double kTravelSeconds = 0.1;
constexpr double kMostRoundsAhead = 4;
constexpr double kLongRoundSeconds = 1;  // this does not matter to them

}  // namespace

RoundCoordinator::RoundCoordinator(const Run& run, Post& post, const SampleTimes& times,
                                   double started_seconds, std::int64_t round)
    : run_(run),
      spec_(run.spec),
      post_(post),
      checkpoints_(run.checkpointing.checkpoints),
      peers_(run.spec, run.objective.dimension()),
      started_seconds_(started_seconds),
      first_round_(round),
      first_seconds_(run.clock.seconds()),
      sample_times_(times),
      whole_(round) {
  last_gradient_seconds_.store(first_seconds_);
  directive_.allowed = round;
}

Position RoundCoordinator::position(std::int64_t legs, double clock_seconds) const {
  return peers_.after_legs(legs, clock_seconds - started_seconds_);
}

void RoundCoordinator::deliver(const Mail& mail) {
  MailReader reader(mail);
  MutexLock lock(mutex_);
  switch (reader.kind()) {
    case MailKind::progress:
      return progress(reader);
    case MailKind::stop:
      stop_ = true;
      return;
    default:
      ACID_ASSERT(false, "rank 0 has no use for a message of kind {}",
                  static_cast<int>(reader.kind()));
  }
}

// Every worker reports each of its rounds.
void RoundCoordinator::progress(MailReader& reader) {
  const auto [committed, extra_bytes, diverged] = reader.values<std::int64_t, std::int64_t, bool>();
  if (diverged) diverged_ = true;
  auto& [workers, extra_bytes_of_all] = reached_[committed];
  extra_bytes_of_all += extra_bytes;
  if (++workers < spec_.workers) return;
  whole_ = committed;
  last_gradient_seconds_.store(run_.clock.seconds());
  extra_bytes_ = extra_bytes_of_all;
  reached_.erase(committed);
  Position here = position(whole_, last_gradient_seconds());
  here.bytes += extra_bytes_;
  run_.recorder.progress(here);
}

double RoundCoordinator::act() {
  MutexLock lock(mutex_);
  bool news = stop_ && !std::exchange(directive_.stopping, stop_);
  while (decide()) news = true;
  if (news) post_.send_to_all(mail_header(MailKind::directive, directive_));
  return kIdleSeconds;
}

bool RoundCoordinator::must_end(const Position& here) const {
  return diverged_ || enough_ || spec_.is_over(here);
}

std::int64_t RoundCoordinator::rounds_ahead() const {
  const std::int64_t done = whole_ - first_round_;
  // With a codec the bytes of a round may be known only when all workers have done it.
  if (done == 0 || (spec_.method.codec != nullptr && spec_.budget.bytes < kNever)) return 1;
  const double each = (run_.clock.seconds() - first_seconds_) / static_cast<double>(done);
  if (each > kLongRoundSeconds) return 1;
  return static_cast<std::int64_t>(
      std::min(kMostRoundsAhead, 1 + std::ceil(kTravelSeconds / each)));
}

// Samples take memory until they are recorded.
bool RoundCoordinator::may_order_sample() const {
  constexpr std::size_t kMost = 64;
  constexpr std::ptrdiff_t kMostModels = 3;
  return ordered_.size() < kMost && std::ranges::count(ordered_, true) < kMostModels;
}

// Decides about the first round that no worker may commit yet. Returns whether it did.
bool RoundCoordinator::decide() {
  const std::int64_t round = directive_.allowed;
  Position here = position(round, run_.clock.seconds());
  here.bytes += extra_bytes_;
  // A sample by the clock does not wait for the evaluation of the one before.
  const bool sample = sample_times_.due(here) && !(spec_.cadence.by_clock() && !ordered_.empty());
  if (directive_.end >= 0 || cutting_ || round >= whole_ + (sample ? 1 : rounds_ahead()))
    return false;
  // A run does not end where it was saved, also by an earlier attempt: replays end before they
  // would save. All but the time limit is known before a cut, and that limit may end the next
  // round.
  const bool over = must_end(here) && (checkpoints_ == nullptr || !checkpoints_->has(round));
  const bool open = spec_.method.round.is_open(round);  // messages on their way are not saved
  if (over || (stop_ && !open && ordered_.empty() && whole_ == round)) {
    end(over);
    return true;
  }
  if (stop_ && !open) return false;  // evaluations and losses may say that the run is over anyway
  if (checkpoints_ != nullptr && !open && asked_ < round) {
    asked_ = round;
    cut_due_ = checkpoints_->due(round, here);
  }
  if (cut_due_ && (whole_ < round || !ordered_.empty())) return false;
  if (sample && !may_order_sample()) return false;
  if (cut_due_) {
    cut_due_ = false;
    cutting_ = true;
    directive_.cut = round;
    return true;
  }
  if (sample) {
    ordered_.push_back(sample_times_.evaluates(here.normalised_time));
    sample_times_.pass(here, spec_.workers);
    directive_.sample = round;
  }
  ++directive_.allowed;
  return true;
}

void RoundCoordinator::end(bool over) {
  stopped_ = !over;
  directive_.end = directive_.allowed;
  directive_.save = stopped_ && checkpoints_ != nullptr && !checkpoints_->has(directive_.end);
}

void RoundCoordinator::sampled(bool enough, const SampleTimes& times) {
  {
    MutexLock lock(mutex_);
    ordered_.pop_front();
    if (spec_.cadence.by_clock()) sample_times_ = times;
    if (enough) enough_ = true;
  }
  post_.wake();
}

void RoundCoordinator::saved() {
  {
    MutexLock lock(mutex_);
    cutting_ = false;
  }
  post_.wake();
}

bool RoundCoordinator::was_stopped() {
  MutexLock lock(mutex_);
  return stopped_;
}

}  // namespace acid

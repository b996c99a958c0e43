#include "engine/drivers/mpi/round_coordinator.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/run/ensemble.hpp"

namespace acid {
namespace {

// A decision takes effect as many rounds late as rank 0 is ahead: no more than it takes to hide
// that messages travel.
constexpr double kAheadSeconds = 0.1;
constexpr double kMostRoundsAhead = 4;

}  // namespace

RoundCoordinator::RoundCoordinator(const Run& run, Post& post, const Sampler& sampler,
                                   double started_seconds, std::int64_t round)
    : run_(run),
      spec_(run.spec),
      post_(post),
      checkpoints_(run.checkpointing.checkpoints),
      peers_(run.spec, run.objective.dimension()),
      started_seconds_(started_seconds),
      first_round_(round),
      first_seconds_(run.clock.seconds()),
      sample_times_(sampler),
      whole_(round) {
  directive_.allowed = round;
}

Position RoundCoordinator::position(std::int64_t legs) const {
  return peers_.after_legs(legs, run_.clock.seconds() - started_seconds_);
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
    case MailKind::shut_down_wanted:
      return post_.send_to_all(mail_header(MailKind::shut_down));
    default:
      ACID_ASSERT(false, "rank 0 has no use for a message of kind {}",
                  static_cast<int>(reader.kind()));
  }
}

// Every worker tells of each of its rounds.
void RoundCoordinator::progress(MailReader& reader) {
  std::int64_t committed = 0, extra_bytes = 0;
  bool diverged = false;
  reader(committed, extra_bytes, diverged);
  if (diverged) diverged_ = true;
  auto& [workers, extra_bytes_of_all] = reached_[committed];
  extra_bytes_of_all += extra_bytes;
  if (++workers < spec_.workers) return;
  whole_ = committed;
  extra_bytes_ = extra_bytes_of_all;
  reached_.erase(committed);
  Position here = position(whole_);
  here.bytes += extra_bytes_;
  run_.recorder.progress(here);
}

void RoundCoordinator::act() {
  MutexLock lock(mutex_);
  bool news = stop_ && !std::exchange(directive_.stopping, stop_);
  while (decide()) news = true;
  if (news) post_.send_to_all(mail_header(MailKind::directive, directive_));
}

bool RoundCoordinator::must_end(const Position& here) const {
  return diverged_ || enough_ || spec_.budget.spent(here) ||
         here.gradients >= spec_.end_at_gradients;
}

std::int64_t RoundCoordinator::rounds_ahead() const {
  const std::int64_t done = whole_ - first_round_;
  // With a codec the bytes of a round may be known only when all have come through it.
  if (done == 0 || (spec_.method.codec != nullptr && spec_.budget.bytes < kNever)) return 1;
  const double each = (run_.clock.seconds() - first_seconds_) / static_cast<double>(done);
  return std::max<std::int64_t>(
      1, static_cast<std::int64_t>(std::min(kMostRoundsAhead, kAheadSeconds / each)));
}

// Decides about the first round that no worker may commit yet. Returns whether it did.
bool RoundCoordinator::decide() {
  const std::int64_t round = directive_.allowed;
  Position here = position(round);
  here.bytes += extra_bytes_;
  // By the clock one does not wait for the evaluation of the sample before.
  const bool by_clock = spec_.cadence.every_seconds < kNever;
  const bool sample = sample_times_.sample_times().due(here) && !(by_clock && evaluating_);
  if (directive_.end >= 0 || cutting_ || round >= whole_ + (sample ? 1 : rounds_ahead()))
    return false;
  const bool over = must_end(here);
  const bool open = spec_.method.round.is_open(round);  // nothing is kept of what is on its way
  if (over || (stop_ && !open && !evaluating_)) {
    end(over);
    return true;
  }
  if (stop_ && !open) return false;  // unless the evaluation says that the run is over anyway
  if (checkpoints_ != nullptr && !open && asked_ < round) {
    asked_ = round;
    cut_due_ = checkpoints_->due(round, here);
  }
  if (evaluating_ && (sample || cut_due_)) return false;
  if (cut_due_) {
    cut_due_ = false;
    cutting_ = true;
    directive_.cut = round;
    return true;
  }
  if (sample) {
    sample_times_.pass(here, 0);
    evaluating_ = true;
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

void RoundCoordinator::sampled(bool enough) {
  {
    MutexLock lock(mutex_);
    evaluating_ = false;
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

bool RoundCoordinator::diverged() {
  MutexLock lock(mutex_);
  return diverged_;
}

RoundEvaluator::RoundEvaluator(const Run& run, Post& post, Collector& collector)
    : run_(run),
      spec_(run.spec),
      post_(post),
      collector_(collector),
      ensemble_(on_host(run.spec), run.objective),
      log_(run.spec.workers, run.spec.keep_events, run.recorder),
      sampler_(run.spec, run.objective, run.recorder, sequential_for(kEvaluationLane)),
      idle_seconds_(static_cast<std::size_t>(run.spec.workers)),
      notes_(static_cast<std::size_t>(run.spec.workers)),
      resumed_(resume(run.checkpointing.resume)),
      coordinator_(run, post, sampler_, run.clock.seconds() - seconds_, round_) {}

RoundsState RoundEvaluator::state() {
  return {ensemble_, log_, round_, seconds_, idle_seconds_, sampler_, notes_};
}

bool RoundEvaluator::resume(const CheckpointFile* file) {
  if (file == nullptr) return false;
  RoundsState kept = state();
  load_state(*file, kRoundsLayout, kept);
  ensemble_.restore(*file);
  return true;
}

void RoundEvaluator::begin() {
  std::vector<WorkerReport> reports(notes_.size());
  for (std::size_t w = 0; w < reports.size(); ++w) {
    reports[w].notes = notes_[w];
    reports[w].idle_seconds = idle_seconds_[w];
    reports[w].events = log_.handed_over(static_cast<int>(w));
  }
  ArchiveWriter more;
  more(seconds_);
  send_start(post_, resumed_ ? &ensemble_ : nullptr, reports, more.take());
}

Outcome RoundEvaluator::run_to_end(const std::function<bool()>& failed) {
  while (!failed()) {
    auto gathered = collector_.wait(kLookSeconds);
    if (!gathered) continue;
    switch (gathered->kind) {
      case MarkKind::measured:
        sampler_.take(gathered->mean(spec_, sampler_.sample_times().evaluates_workers()),
                      totals(*gathered), gathered->take_notes());
        coordinator_.sampled(enough());
        break;
      case MarkKind::checkpoint:
        if (!enough()) save(*gathered);
        collector_.go_on();
        coordinator_.saved();
        break;
      case MarkKind::last_checkpoint:
      case MarkKind::end:
        return end(*gathered);
    }
  }
  return {};
}

bool RoundEvaluator::enough() const { return sampler_.target_reached() || sampler_.diverged(); }

Totals RoundEvaluator::totals(const Gathered& gathered) const {
  Totals totals;
  totals.position = coordinator_.position(std::llround(gathered.time));
  totals.learning_rate = spec_.learning_rate(totals.position);
  totals.position.bytes += gathered.extra_bytes();
  totals.idle_seconds = gathered.idle_seconds();
  return totals;
}

void RoundEvaluator::save(const Gathered& gathered) {
  gathered.restore(ensemble_);
  const Position here = totals(gathered).position;
  round_ = std::llround(gathered.time);
  seconds_ = here.seconds;
  for (std::size_t w = 0; w < gathered.reports.size(); ++w) {
    const WorkerReport& report = gathered.reports[w];
    notes_[w] = report.notes;
    idle_seconds_[w] = report.idle_seconds;
    log_.resume_at(static_cast<int>(w), report.events);
  }
  RoundsState kept = state();
  run_.checkpointing.save(round_, here, ensemble_.vectors(), kRoundsLayout, kept);
}

Outcome RoundEvaluator::end(Gathered& gathered) {
  const Totals totals = this->totals(gathered);
  if (coordinator_.was_stopped()) {
    if (gathered.kind == MarkKind::last_checkpoint) save(gathered);
    return ended_early(Ending::stopped, "", totals.position);
  }
  gathered.restore(ensemble_);
  const GradientRecords notes = gathered.take_notes();
  if (sampler_.diverged() || coordinator_.diverged())
    return diverged(sampler_, notes, totals.position);
  Outcome outcome = conclude(ensemble_, sampler_, gathered.time, totals, notes);
  gathered.tell_times(outcome);
  return outcome;
}

}  // namespace acid

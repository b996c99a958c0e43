#include "engine/drivers/mpi/evaluator.hpp"

#include <utility>

#include "engine/base/thread_group.hpp"

namespace acid {

Outcome Evaluator::run_to_end(const std::function<bool()>& failed) {
  const auto stop_measuring = [this] {
    MutexLock lock(mutex_);
    over_ = true;
    changed_.notify_all();
    collector_.wake();
  };
  ThreadGroup measuring([&] { stop_measuring(); });
  measuring.start([this] { measure(); });
  Outcome outcome;
  try {
    outcome = record(failed);
  } catch (...) {
    stop_measuring();
    throw;
  }
  stop_measuring();
  measuring.join();
  return outcome;
}

Outcome Evaluator::record(const std::function<bool()>& failed) {
  while (!failed()) {
    auto looked = next(look());
    if (!looked) {
      MutexLock lock(mutex_);
      if (over_) return {};  // the measuring thread failed, and join() says how
      continue;
    }
    Gathered& gathered = looked->gathered;
    switch (gathered.kind) {
      case MarkKind::measured:
        take_sample(*looked);
        break;
      case MarkKind::checkpoint:
        if (!shell_.enough()) save_cut(gathered);
        collector_.go_on();
        saved();
        break;
      case MarkKind::last_checkpoint:
      case MarkKind::end:
        return end(gathered);
    }
  }
  return {};
}

// The times of samples follow from their marks, so this thread knows what each needs.
void Evaluator::measure() {
  SampleTimes times = shell_.sampler.sample_times();
  while (true) {
    std::optional<Gathered> gathered = collector_.wait(kLookSeconds);
    {
      MutexLock lock(mutex_);
      if (over_) return;
    }
    if (!gathered) continue;
    Looked looked{std::move(*gathered), std::nullopt};
    looked.gathered.seconds = run_.clock.seconds();
    if (looked.gathered.kind == MarkKind::measured) {
      looked.mean =
          mean(looked.gathered, {.mean = times.evaluates(), .workers = times.evaluates_workers()});
      looked.gathered.measured.clear();
      Position here;
      here.normalised_time = looked.gathered.time;
      times.pass(here, spec_.workers);
    }
    if (!hand_over(std::move(looked))) return;
  }
}

// Models to be evaluated take memory: with many of them this thread waits, then marks wait for it,
// and then workers get no more gradients.
bool Evaluator::hand_over(Looked looked) {
  constexpr int kMostModels = 3;
  MutexLock lock(mutex_);
  const int models = looked.mean && !looked.mean->x.empty() ? 1 : 0;
  while (models > 0 && models_ >= kMostModels && !over_) changed_.wait(mutex_);
  if (over_) return false;
  models_ += models;
  looked_.push_back(std::move(looked));
  changed_.notify_all();
  return true;
}

std::optional<Evaluator::Looked> Evaluator::next(double seconds) {
  MutexLock lock(mutex_);
  if (looked_.empty() && !over_ && !woken_) changed_.wait_for(mutex_, seconds);
  woken_ = false;
  if (looked_.empty()) return std::nullopt;
  Looked looked = std::move(looked_.front());
  looked_.pop_front();
  if (looked.mean && !looked.mean->x.empty()) --models_;
  changed_.notify_all();
  return looked;
}

void Evaluator::wake() {
  MutexLock lock(mutex_);
  woken_ = true;
  changed_.notify_all();
}

// A run that has diverged takes no other sample.
void Evaluator::take_sample(Looked& looked) {
  if (!shell_.sampler.diverged())
    shell_.sampler.take(*looked.mean, totals(looked.gathered), looked.gathered.take_notes());
  sampled();
}

// A checkpoint needs the state of all workers.
void Evaluator::save_cut(const Gathered& gathered) {
  if (run_.checkpointing.checkpoints == nullptr || !gathered.complete()) return;
  gathered.restore(shell_.ensemble);
  save(gathered, position(gathered));
}

Outcome Evaluator::end(Gathered& gathered) {
  const Totals totals = this->totals(gathered);
  if (gathered.kind == MarkKind::last_checkpoint) {
    save_cut(gathered);
    collector_.go_on();
    saved();
  }
  // The last sample may have ended the run after the stop was requested.
  if (coordinator().was_stopped() && !shell_.enough()) return shell_.stopped(totals.position);
  gathered.restore(shell_.ensemble);
  const GradientRecords notes = gathered.take_notes();
  if (diverged_unseen() && !shell_.sampler.diverged() && !any_diverged(notes))
    return ended_early(Ending::diverged, "a worker diverged and was lost before it said how",
                       totals.position);
  return shell_.end(
      gathered.time, totals, notes,
      [&](Outcome& outcome) {
        tell(gathered, outcome);
        gathered.tell_times(outcome);
      },
      gathered.absent);
}

}  // namespace acid

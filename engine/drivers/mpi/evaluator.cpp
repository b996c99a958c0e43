#include "engine/drivers/mpi/evaluator.hpp"

#include <algorithm>
#include <utility>

#include "engine/base/thread_group.hpp"

namespace acid {

Outcome Evaluator::run_to_end(const std::function<bool()>& failed) {
  const auto stop_measuring = [this] {
    looked_.abandon();
    collector_.wake();
  };
  ThreadGroup measuring(stop_measuring);
  measuring.start([this] { measure(); });
  Outcome outcome;
  measuring.join_after([&] {
    outcome = record(failed);
    stop_measuring();
  });
  return outcome;
}

Outcome Evaluator::record(const std::function<bool()>& failed) {
  while (!failed() && !looked_.is_closed()) {
    auto looked = looked_.next(look());
    if (!looked) continue;
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
    looked_.recorded();
  }
  return {};
}

// The times of samples follow from their marks, so this thread knows what each needs.
void Evaluator::measure() {
  SampleTimes times = shell_.sampler.sample_times();
  double seconds = 0;
  while (!looked_.is_closed()) {
    std::optional<Gathered> gathered = collector_.wait(kLookSeconds);
    if (!gathered) continue;
    Looked looked{std::move(*gathered), std::nullopt};
    // What a run does after its last gradient takes none of its time.
    const bool is_end = looked.gathered.kind == MarkKind::end;
    seconds =
        std::max(seconds, is_end ? coordinator().last_gradient_seconds() : run_.clock.seconds());
    looked.gathered.seconds = seconds;
    const bool is_sample = looked.gathered.kind == MarkKind::measured;
    const Look wanted = RunShell::look(times, looked.gathered.time);
    if (is_sample) {
      looked.mean = mean(looked.gathered, wanted);
      for (WorkerMark& worker : looked.gathered.workers) worker.measured = Measured();
      Position here;
      here.normalised_time = looked.gathered.time;
      times.pass(here, spec_.workers);
    }
    // With many models this thread waits, then marks do, and then workers get no more gradients.
    looked_.add(std::move(looked), is_sample && wanted.mean);
  }
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
        gathered.tell_workers(outcome);
        // By normalised time marks are where samples are due.
        if (spec_.cadence.by_clock()) outcome.skipped = shell_.sampler.skipped();
      },
      gathered.absent);
}

}  // namespace acid

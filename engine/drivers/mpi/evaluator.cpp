#include "engine/drivers/mpi/evaluator.hpp"

namespace acid {

Outcome Evaluator::run_to_end(const std::function<bool()>& failed) {
  while (!failed()) {
    auto gathered = collector_.wait(look());
    if (!gathered) continue;
    switch (gathered->kind) {
      case MarkKind::measured:
        take_sample(*gathered);
        break;
      case MarkKind::checkpoint:
        if (!shell_.enough()) save_cut(*gathered);
        collector_.go_on();
        saved();
        break;
      case MarkKind::last_checkpoint:
      case MarkKind::end:
        return end(*gathered);
    }
  }
  return {};
}

// A run that has diverged takes no other sample.
void Evaluator::take_sample(Gathered& gathered) {
  const MeanModel at_mark = mean(gathered);
  if (!shell_.sampler.diverged())
    shell_.sampler.take(at_mark, totals(gathered), gathered.take_notes());
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

#include "engine/drivers/mpi/round_process.hpp"

#include <cmath>

namespace acid {

RoundEvaluator::RoundEvaluator(const Run& run, Post& post, Collector& collector)
    : Evaluator(run, post, collector),
      idle_seconds_(static_cast<std::size_t>(run.spec.workers)),
      notes_(static_cast<std::size_t>(run.spec.workers)),
      resumed_(resume()),
      coordinator_(run, post, shell_.sampler.sample_times(), run.clock.seconds() - seconds_,
                   round_) {}

bool RoundEvaluator::resume() {
  RoundsState kept = state();
  return shell_.resume(kRoundsLayout, kept);
}

void RoundEvaluator::begin() {
  std::vector<WorkerReport> reports(notes_.size());
  for (std::size_t w = 0; w < reports.size(); ++w) {
    reports[w].notes = notes_[w];
    reports[w].idle_seconds = idle_seconds_[w];
    reports[w].events = shell_.log.handed_over(static_cast<int>(w));
  }
  ArchiveWriter more;
  more(seconds_);
  send_start(post_, resumed_ ? &shell_.ensemble : nullptr, reports, more.take());
}

Position RoundEvaluator::position(const Gathered& gathered) const {
  Position here = coordinator_.position(std::llround(gathered.time), gathered.seconds);
  here.bytes += gathered.sum(&WorkerReport::extra_bytes);
  return here;
}

void RoundEvaluator::save(const Gathered& gathered, const Position& here) {
  round_ = std::llround(gathered.time);
  seconds_ = here.seconds;
  for (std::size_t w = 0; w < gathered.workers.size(); ++w) {
    const WorkerReport& report = gathered.workers[w].report;
    notes_[w] = report.notes;
    idle_seconds_[w] = report.idle_seconds;
    shell_.log.resume_at(static_cast<int>(w), report.events);
  }
  RoundsState kept = state();
  shell_.save(round_, here, kRoundsLayout, kept);
}

void RoundProcess::deliver_own(const Mail& mail) {
  switch (MailReader(mail).kind()) {
    case MailKind::start:
    case MailKind::start_notes:
    case MailKind::start_vector:
      return start_.deliver(mail);
    case MailKind::slice:
    case MailKind::slice_mean:
    case MailKind::round_ready:
    case MailKind::parameters:
    case MailKind::gaps:
    case MailKind::rest:
      return worker_.messages().deliver(mail);
    case MailKind::directive:
      return directives_.deliver(mail);
    default:
      return deliver_to_rank_zero(mail);
  }
}

}  // namespace acid

#include "engine/drivers/mpi/round_worker.hpp"

#include <algorithm>
#include <utility>

#include "engine/drivers/shared/rounds.hpp"
#include "engine/run/commit.hpp"

namespace acid {
namespace {

// No leg begins from there on.
std::int64_t legs_of(const RunSpec& spec) {
  const std::int64_t gradients = std::min(spec.budget.gradients, spec.end_at_gradients);
  return gradients / spec.workers + (gradients % spec.workers == 0 ? 0 : 1);
}

}  // namespace

RoundWorker::RoundWorker(const Run& run, const MpiOptions& options, Post& post,
                         RoundDirectives& directives)
    : run_(run),
      slow_factor_(options.slow_factor),
      post_(post),
      directives_(directives),
      rank_(post.rank()),
      peers_(run.spec, run.objective.dimension()),
      settings_(worker_settings(run.spec, run.objective)),
      pace_(options.slow_factor, run.clock, run.objective),
      memory_(settings_, 1),
      worker_(settings_, memory_, 0, static_cast<std::uint32_t>(rank_)),
      messages_(run, options, post, peers_, worker_.gradient()),
      window_(run.spec, settings_),
      reporter_(run, post, worker_, window_, post.open_window(window_.size())),
      started_seconds_(run.clock.seconds()) {
  std::vector<float> x0(settings_.dimension), buffers(settings_.buffer_size);
  run.objective.start(rank_, x0, buffers);
  worker_.start(x0, buffers);
}

void RoundWorker::start(Start& start) {
  double seconds = 0;
  ArchiveReader more(start.more);
  more(seconds);
  started_seconds_ = run_.clock.seconds() - seconds;
  if (!start.resumed) return;
  report_ = std::move(start.report);
  reporter_.log().resume_at(rank_, report_.events);
}

void RoundWorker::train() {
  if (!directives_.wait_for_start()) return;
  const std::int64_t last = legs_of(run_.spec);
  for (std::int64_t leg = worker_.gradients(); leg < last; ++leg) {
    if (!go_through(
            run_.spec.method, leg, [&] { return may_commit(leg); },
            [this](Phase phase, std::int64_t exchange) { return act(phase, exchange); }))
      return;
    post_.submit(
        0, mail_header(MailKind::progress, worker_.gradients(), worker_.extra_bytes(), diverged_));
  }
  may_commit(last);
}

bool RoundWorker::act(Phase phase, std::int64_t exchange) {
  if (phase == Phase::gradient) compute();
  if (phase == Phase::say) messages_.say(exchange, worker_);
  if (phase == Phase::hear) {
    if (!wait_for_exchange()) return false;
    messages_.hear(exchange, worker_, reporter_.log());
  }
  if (phase == Phase::step) step();
  return true;
}

// A slow process delays its gradient and all parts of it.
void RoundWorker::compute() {
  const double began = run_.clock.seconds();
  pace_.begin();
  worker_.begin_gradient(worker_.last_event());
  GradientReady ready;
  if (run_.spec.method.reduces_gradients) {
    messages_.begin();
    if (slow_factor_ <= 1)
      ready = [this](std::size_t begin, std::size_t end) { messages_.hand_over_parts(begin, end); };
  }
  loss_ = run_.objective.gradient_in_parts(0, rank_, worker_.gradients(), worker_.snapshot(),
                                           worker_.gradient_buffers(), messages_.gradient(), ready);
  norm_ = norm_before_hearing(run_.spec, worker_);
  const double until = pace_.end();
  if (slow_factor_ > 1) directives_.hold_until(until);
  end_span(SpanKind::compute, began);
}

// Leaves the marks that rank 0 asks for before anything of a leg is heard or committed.
bool RoundWorker::may_commit(std::int64_t leg) {
  using Next = RoundDirectives::Next;
  while (true) {
    const Next next = wait_for_directive(leg);
    const double t = worker_.last_event();
    switch (next) {
      case Next::abandoned:
        return false;
      case Next::commit:
        return true;
      case Next::sample_and_commit:
        reporter_.mark(MarkKind::measured, t, worker_, report_);
        report_.notes.clear();
        return true;
      case Next::cut:
        reporter_.mark(MarkKind::checkpoint, t, worker_, report_);
        break;
      case Next::last_cut:
      case Next::end:
        // The exchange that began for this leg is completed, so that no message is left on its way.
        if (!wait_for_exchange()) return false;
        if (next == Next::end) report_.spans = timeline_.take().front();
        reporter_.mark(next == Next::end ? MarkKind::end : MarkKind::last_checkpoint, t, worker_,
                       report_);
        return false;
    }
  }
}

RoundDirectives::Next RoundWorker::wait_for_directive(std::int64_t leg) {
  const double since = run_.clock.seconds();
  const RoundDirectives::Next next = directives_.wait_for(leg);
  report_.idle_seconds += end_span(SpanKind::wait, since);
  return next;
}

bool RoundWorker::wait_for_exchange() {
  const double since = run_.clock.seconds();
  const bool is_over = messages_.wait();
  report_.idle_seconds += end_span(SpanKind::exchange, since);
  return is_over;
}

double RoundWorker::end_span(SpanKind kind, double since) {
  const double until = run_.clock.seconds();
  timeline_.add(0, kind, since - started_seconds_, until - started_seconds_);
  return until - since;
}

void RoundWorker::step() {
  const Position here =
      peers_.after_legs(worker_.gradients() + 1, run_.clock.seconds() - started_seconds_);
  const Commit what{.worker = rank_,
                    .time = here.normalised_time,
                    .position = here,
                    .learning_rate = run_.spec.learning_rate(here),
                    .loss = loss_,
                    .gradient = messages_.gradient(),
                    .direction = messages_.direction(),
                    .is_first = report_.notes.empty(),
                    .norm = norm_};
  if (!commit(what, worker_, reporter_.log(), report_.notes.emplace_back())) diverged_ = true;
}

}  // namespace acid

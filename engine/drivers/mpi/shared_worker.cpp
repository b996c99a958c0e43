#include "engine/drivers/mpi/shared_worker.hpp"

#include <utility>

namespace acid {

SharedWorker::SharedWorker(const Run& run, Post& post)
    : run_(run),
      rank_(post.rank()),
      backlog_limit_(run.spec.backlog_limit(rank_)),
      settings_(worker_settings(run.spec, run.objective)),
      window_(run.spec, settings_),
      shared_(post.open_window(window_.size())),
      memory_(settings_, 1, window_.worker(shared_)),
      worker_(settings_, memory_, 0, static_cast<std::uint32_t>(rank_)),
      reporter_(run, post, worker_, window_, shared_),
      time_(run.spec.workers),
      edges_(run.spec, rank_) {
  std::vector<float> x0(settings_.dimension), buffers(settings_.buffer_size);
  run.objective.start(rank_, x0, buffers);
  worker_.start(x0, buffers);
}

void SharedWorker::start(Start& start, double seconds, std::int64_t count, std::int64_t known) {
  started_seconds_ = run_.clock.seconds() - seconds;
  if (!start.resumed) return;
  report_ = std::move(start.report);
  reporter_.log().resume_at(rank_, report_.events);
  time_.restore(count, known);
  edges_.pass_until(time_.time_of(count));
}

void SharedWorker::make_due() { edges_.draw_until(time_.time_of(time_.known())); }

bool SharedWorker::behind() {
  make_due();
  return static_cast<double>(edges_.waiting()) > backlog_limit_;
}

void SharedWorker::begin_gradient(double t) {
  worker_.begin_gradient(t);
  report_.computing = true;
  reporter_.log().add(rank_, EventKind::begin_gradient, t, worker_);
}

double SharedWorker::compute() {
  return run_.objective.gradient(0, rank_, worker_.gradients(), worker_.snapshot(),
                                 worker_.gradient_buffers(), worker_.gradient());
}

Position SharedWorker::count() {
  time_.commit();
  return {.gradients = time_.count(), .normalised_time = time_.time(), .seconds = 0, .bytes = 0};
}

bool SharedWorker::commit(const Position& here, double loss, const Commit& more) {
  Commit what = more;
  what.worker = rank_;
  what.time = here.normalised_time;
  what.position = here;
  what.learning_rate = run_.spec.learning_rate(here);
  what.loss = loss;
  what.gradient = what.direction = worker_.gradient();
  what.is_first = report_.notes.empty();
  report_.computing = what.begins_next;
  diverged_ = !acid::commit(what, worker_, reporter_.log(), report_.notes.emplace_back());
  return !diverged_;
}

// An exchange between two workers counts as a half for each; one with a server counts twice that.
void SharedWorker::say(double t, std::span<float> out) {
  worker_.offer(t, out);
  reporter_.log().add_offer(rank_, t, worker_);
  report_.exchanges += 2;
}

double SharedWorker::end_span(SpanKind kind, double since) {
  const double until = run_.clock.seconds();
  timeline_.add(0, kind, since - started_seconds_, until - started_seconds_);
  return until - since;
}

void SharedWorker::offer(std::span<float> out) {
  worker_.offer(time_.time(), out);
  log(EventKind::offer, edges_.first().number);
  edges_.begin();
}

void SharedWorker::apply(double offered, std::span<const float> own,
                         std::span<const float> partners, double since) {
  worker_.apply(time_.time(), offered, own, partners);
  log(EventKind::apply, edges_.first().number);
  exchanged(since);
}

double SharedWorker::lend() {
  const double elapsed = worker_.lend(time_.time());
  lent_ = true;
  edges_.begin();
  return elapsed;
}

void SharedWorker::take_back(double t, double since) {
  reporter_.log().add(rank_, EventKind::exchange, t, worker_, edges_.first().number);
  lent_ = false;
  exchanged(since);
}

void SharedWorker::exchange_with(std::span<float> partner, double partner_elapsed, double since) {
  worker_.exchange_with(partner, partner_elapsed, time_.time());
  log(EventKind::exchange, edges_.first().number);
  exchanged(since);
}

void SharedWorker::exchanged(double since) {
  ++report_.exchanges;
  end_span(SpanKind::exchange, since);
  edges_.finish();
  changed.notify_all();
}

void SharedWorker::mark(MarkKind kind, double t) {
  if (kind == MarkKind::end) {
    report_.spans = timeline_.take().front();
    report_.left_out = edges_.left_out();
  }
  reporter_.mark(kind, t, worker_, report_);
  if (kind == MarkKind::measured) report_.notes.clear();
}

void SharedWorker::log(EventKind kind, std::uint64_t exchange) {
  reporter_.log().add(rank_, kind, time_.time(), worker_, exchange);
}

}  // namespace acid

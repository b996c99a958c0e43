#include "engine/drivers/threads/threads_sync.hpp"

#include <algorithm>

namespace acid {

ThreadsSync::ThreadsSync(const Run& run, const ThreadsOptions& options)
    : run_(run),
      spec_(run.spec),
      slow_workers_(options, run.stop),
      workers_(run),
      first_leg_(workers_.resume()),
      shell_(workers_.shell()),
      board_(spec_, workers_.peers(), workers_.ensemble(),
             spec_.method.round.said_before(first_leg_)),
      legs_done_(first_leg_),
      barrier_(run.spec.workers),
      samples_(run.spec, run.objective.dimension(), shell_.sampler.sample_times()) {}

void ThreadsSync::save_cut(std::int64_t leg) {
  if (!samples_.wait_until_evaluated() || has_diverged() || end_wanted_.load()) return;
  workers_.save(leg);
}

Outcome ThreadsSync::execute() {
  train();
  Position here = workers_.position_of_all(legs_done_.load());
  here.seconds = end_seconds_;  // evaluations after it are not charged to the run
  if (stopped_.load()) return shell_.stopped(here);
  return shell_.end(shell_.mixing_time(here.normalised_time),
                    shell_.totals(here, 0, workers_.idle_seconds()), collect_notes(),
                    [this](Outcome& outcome) {
                      workers_.tell_times(outcome);
                      // By normalised time no sample is late: it is where the next leg begins.
                      if (spec_.cadence.by_clock()) outcome.skipped = shell_.sampler.skipped();
                    });
}

void ThreadsSync::train() {
  ThreadGroup workers([this] { abort(); });
  for (int w = 0; w < spec_.workers; ++w) workers.start([this, w] { work(w); });
  workers.join_after([this] { evaluate_samples(); });
}

void ThreadsSync::abort() {
  closing_.set();
  slow_workers_.wake();
  samples_.abandon();  // first: the last at the barrier may wait for it
  board_.abort();
  barrier_.abort();
}

bool ThreadsSync::meet(int w, const std::function<void()>& leader) {
  const double since = workers_.seconds();
  double leading = 0;  // the last worker that arrives works while the others wait
  const bool whole = barrier_.wait([&] {
    const double began = workers_.seconds();
    if (leader) leader();
    leading = workers_.seconds() - began;
  });
  const double until = workers_.end_span(w, SpanKind::wait, since);
  workers_.waited(w, until - since - leading);
  return whole;
}

void ThreadsSync::work(int w) {
  const std::int64_t most = std::min(spec_.budget.gradients, spec_.end_at_gradients);
  for (std::int64_t leg = first_leg_; leg * spec_.workers < most; ++leg)
    if (!go_through(
            spec_.method, leg, [&] { return may_go_on(w, leg); },
            [&](Phase phase, std::int64_t exchange) { return act(w, phase, exchange); }))
      return;
  // The last leg is whole once all workers have done it.
  meet(w, [&] { between_legs(workers_.ensemble().worker(w).gradients()); });
}

bool ThreadsSync::act(int w, Phase phase, std::int64_t exchange) {
  if (phase == Phase::say) return say(w, exchange);
  if (phase == Phase::hear) return hear(w, exchange);
  if (phase == Phase::gradient) compute(w);
  if (phase == Phase::step) step(w);
  return true;
}

void ThreadsSync::compute(int w) {
  const double started = workers_.seconds();
  workers_.compute(w);
  slow_workers_.keep(w, workers_.seconds() - started);
  workers_.end_span(w, SpanKind::compute, started);
}

bool ThreadsSync::may_go_on(int w, std::int64_t leg) {
  if (closing_.is_set()) return false;
  const Decision decision = decide(w, leg);
  if (decision.meet && (!meet(w, [&] { between_legs(leg); }) || ended_.load())) return false;
  return !decision.sample || leave_sample(w, leg);
}

ThreadsSync::Decision ThreadsSync::decide(int w, std::int64_t leg) {
  MutexLock lock(decisions_mutex_);
  const auto [found, is_first] = decisions_.try_emplace(leg);
  Decision& decision = found->second;
  if (is_first) {
    const Position here = workers_.position_of_all(leg);
    decision.meet = must_meet(leg, here);
    decision.sample = samples_.take(leg, here);
  }
  decision.extra_bytes += workers_.ensemble().worker(w).extra_bytes();
  if (++decision.passed < spec_.workers) return decision;
  const Decision last = decisions_.extract(found).mapped();
  Position here = workers_.position(leg);
  here.bytes += last.extra_bytes;
  if (!last.meet) run_.recorder.progress(here);
  return last;
}

bool ThreadsSync::must_meet(std::int64_t leg, const Position& here) {
  if (must_end(leg, here)) return true;
  if (spec_.method.round.is_open(leg)) return false;  // messages on their way are not saved
  if (run_.stop.stop_requested()) return true;
  if (!shell_.cut_is_due(leg, here)) return false;
  cut_due_ = leg;
  return true;
}

bool ThreadsSync::leave_sample(int w, std::int64_t leg) {
  const Worker& worker = workers_.ensemble().worker(w);
  workers_.log().mark(w, EventKind::measured, worker.last_event(), worker);
  const double since = workers_.seconds();
  const bool left = samples_.leave(w, leg, worker, workers_.notes(w), workers_.idle_seconds(w),
                                   [&] { return workers_.position(leg); });
  workers_.waited(w, workers_.end_span(w, SpanKind::wait, since) - since);
  return left;
}

bool ThreadsSync::cut_is_due(std::int64_t leg) {
  MutexLock lock(decisions_mutex_);
  return cut_due_ == leg;
}

bool ThreadsSync::must_end(std::int64_t leg, Position here) const {
  // The clock ends no run where an earlier attempt saved it: replays end before they would save.
  if (leg == first_leg_ && run_.checkpointing.resume != nullptr) here.seconds = 0;
  return has_diverged() || end_wanted_.load() || spec_.is_over(here);
}

void ThreadsSync::between_legs(std::int64_t leg) {
  legs_done_.store(leg);
  const Position here = workers_.position_of_all(leg);
  run_.recorder.progress(here);
  const bool stopping = run_.stop.stop_requested();
  const bool cut = stopping ? shell_.last_cut_is_due(leg) : cut_is_due(leg);
  if (cut && !must_end(leg, here)) save_cut(leg);
  const bool over = must_end(leg, here);  // also if the evaluation that the cut waited for says so
  if (!over && !stopping) return;
  end_seconds_ = here.seconds;
  stopped_.store(!over);
  ended_.store(true);
  samples_.close();
}

// The calling thread's work until the run is over.
void ThreadsSync::evaluate_samples() {
  while (std::optional<RoundSamples::Sample> sample = samples_.next()) {
    sort_by_commit(sample->notes);
    if (sample->gradients[0] > diverged_leg_.load()) {  // the run ended before it
      unsampled_.insert(unsampled_.end(), sample->notes.begin(), sample->notes.end());
      samples_.evaluated(*sample);
      continue;
    }
    const std::vector<std::span<const float>> x(sample->x.begin(), sample->x.end()),
        buffers(sample->buffers.begin(), sample->buffers.end());
    shell_.sampler.take(mean_of(x, buffers, sample->gradients, spec_.average_buffers,
                                RunShell::look(shell_.sampler.sample_times(),
                                               sample->totals.position.normalised_time)),
                        sample->totals, sample->notes);
    const bool reached =
        shell_.sampler.target_reached() && spec_.end_at_gradients == RunSpec::kNoEnd;
    if (reached || shell_.sampler.diverged()) end_wanted_.store(true);
    samples_.evaluated(*sample);
  }
}

bool ThreadsSync::say(int w, std::int64_t exchange) {
  const double began = workers_.seconds();
  if (!board_.wait_for_place(w, exchange)) return false;
  workers_.waited(w, workers_.end_span(w, SpanKind::wait, began) - began);
  board_.say(w, exchange);
  return true;
}

bool ThreadsSync::hear(int w, std::int64_t exchange) {
  return spec_.method.hears_all_in(exchange) ? reduce(w, exchange) : hear_peers(w, exchange);
}

// Each worker adds a part of the vector once all have said their messages.
bool ThreadsSync::reduce(int w, std::int64_t exchange) {
  if (!board_.is_empty(exchange)) {
    if (!meet(w)) return false;
    const double since = workers_.seconds();
    board_.add_part(w, exchange);
    workers_.end_span(w, SpanKind::exchange, since);
    if (!meet(w)) return false;
  }
  board_.hear_mean(w, exchange, workers_.log());
  return true;
}

bool ThreadsSync::hear_peers(int w, std::int64_t exchange) {
  const double began = workers_.seconds();
  if (!board_.wait_for_peers(w, exchange)) return false;
  const double since = workers_.end_span(w, SpanKind::wait, began);
  workers_.waited(w, since - began);
  board_.hear_peers(w, exchange, workers_.log());
  workers_.end_span(w, SpanKind::exchange, since);
  return true;
}

void ThreadsSync::step(int w) {
  if (workers_.step(w, board_.direction(w))) return;
  const std::int64_t leg = workers_.ensemble().worker(w).gradients() - 1;
  std::int64_t first = diverged_leg_.load();
  while (leg < first && !diverged_leg_.compare_exchange_weak(first, leg)) {
  }
}

GradientRecords ThreadsSync::collect_notes() {
  GradientRecords notes = std::move(unsampled_);
  const GradientRecords rest = workers_.take_notes();
  notes.insert(notes.end(), rest.begin(), rest.end());
  sort_by_commit(notes);
  return notes;
}

}  // namespace acid

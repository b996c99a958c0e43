#include "engine/drivers/threads/rounds.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/run/commit.hpp"

namespace acid {

ThreadsSync::ThreadsSync(const Run& run, const ThreadsOptions& options)
    : run_(run),
      spec_(run.spec),
      pace_(options),
      weights_(weights_of(run.spec)),
      ensemble_(run.spec, run.objective),
      log_(run.spec.workers, run.spec.keep_events, run.recorder),
      timeline_(run.spec.workers),
      message_size_(run.spec.method.message().floats(ensemble_.dimension())),
      bytes_per_message_(bytes_per_message(run.spec, ensemble_.dimension())),
      mean_(run.spec.method.peers == Peers::all ? message_size_ : 0, *run.spec.backend),
      notes_(static_cast<std::size_t>(run.spec.workers)),
      losses_(static_cast<std::size_t>(run.spec.workers)),
      idle_seconds_(static_cast<std::size_t>(run.spec.workers)),
      barrier_(run.spec.workers),
      samples_(run.spec, ensemble_.dimension()),
      sampler_(run.spec, run.objective, run.recorder, sequential_for(run.spec.workers)) {
  started_seconds_ = run.clock.seconds();
  if (run.checkpointing.resume != nullptr) {
    double seconds = 0;
    RoundsState kept{ensemble_, log_, first_leg_, seconds, idle_seconds_, sampler_, notes_};
    load_state(*run.checkpointing.resume, kLayout, kept);
    ensemble_.restore(*run.checkpointing.resume);
    legs_done_.store(first_leg_);
    started_seconds_ -= seconds;
    samples_.resume_at(sampler_.sample_times());
  }
  said_.emplace(spec_.workers, spec_.method.round.said_before(first_leg_));
  if (spec_.method.reduces_gradients) return;
  for (auto& messages : messages_)
    for (int w = 0; w < spec_.workers; ++w) messages.emplace_back(message_size_, *spec_.backend);
}

Position ThreadsSync::position(std::int64_t legs) const {
  return spec_.after_legs(legs, seconds(), bytes_per_message_);
}

// No gradient of the leg is committed: an attempt that goes on from here computes them again.
void ThreadsSync::save_cut(std::int64_t leg) {
  if (!samples_.wait_until_evaluated() || has_diverged() || end_wanted_.load()) return;
  log_.mark(EventKind::checkpoint, ensemble_.latest_event(), ensemble_);
  log_.flush();
  const Position here = position(leg);
  double seconds = here.seconds;
  RoundsState kept{ensemble_, log_, leg, seconds, idle_seconds_, sampler_, notes_};
  run_.checkpointing.save(leg, here, ensemble_.vectors(), kLayout, kept);
}

Outcome ThreadsSync::execute() {
  train();
  log_.flush();
  Totals totals;
  totals.position = position(legs_done_.load());
  totals.position.seconds = end_seconds_;  // what is evaluated after it is not charged to the run
  if (stopped_.load()) return ended_early(Ending::stopped, "", totals.position);
  if (sampler_.diverged() || has_diverged())
    return diverged(sampler_, collect_notes(), totals.position);
  totals.idle_seconds = std::accumulate(idle_seconds_.begin(), idle_seconds_.end(), 0.0);
  totals.learning_rate = spec_.learning_rate(totals.position);
  Outcome outcome = conclude(ensemble_, sampler_,
                             std::max(totals.position.normalised_time, ensemble_.latest_event()),
                             totals, collect_notes());
  outcome.worker_idle_seconds = idle_seconds_;
  outcome.worker_spans = timeline_.take();
  // By normalised time none is late: it is where the next leg begins.
  if (spec_.cadence.every_seconds < kNever) outcome.skipped = sampler_.skipped();
  return outcome;
}

void ThreadsSync::train() {
  ThreadGroup workers([this] { abort(); });
  for (int w = 0; w < spec_.workers; ++w) workers.start([this, w] { work(w); });
  try {
    evaluate_samples();
  } catch (...) {
    abort();  // wakes the threads that sleep, so that they can be joined
    throw;
  }
  workers.join();
}

void ThreadsSync::abort() {
  closing_.set();
  samples_.abandon();  // first: the last at the barrier may wait for it
  said_->abort();
  barrier_.abort();
}

bool ThreadsSync::meet(int w, const std::function<void()>& leader) {
  const double since = seconds();
  double leading = 0;  // the last one to come works while the others wait
  const bool whole = barrier_.wait([&] {
    const double began = seconds();
    if (leader) leader();
    leading = seconds() - began;
  });
  const double until = end_span(w, SpanKind::wait, since);
  idle_seconds_[static_cast<std::size_t>(w)] += until - since - leading;
  return whole;
}

double ThreadsSync::end_span(int w, SpanKind kind, double since) {
  const double until = seconds();
  timeline_.add(w, kind, since, until);
  return until;
}

void ThreadsSync::work(int w) {
  const std::int64_t most = std::min(spec_.budget.gradients, spec_.end_at_gradients);
  for (std::int64_t leg = first_leg_; leg * spec_.workers < most; ++leg)
    if (!go_through(
            spec_.method.round, leg, [&] { return may_go_on(w, leg); },
            [&](Phase phase, std::int64_t exchange) { return act(w, phase, exchange); }))
      return;
  // The last leg is whole once all have come through it.
  meet(w, [&] { between_legs(ensemble_.worker(w).gradients()); });
}

bool ThreadsSync::act(int w, Phase phase, std::int64_t exchange) {
  switch (phase) {
    case Phase::gradient:
      compute(w);
      return true;
    case Phase::say:
      say(w, exchange);
      return true;
    case Phase::hear:
      return hear(w, exchange);
    case Phase::step:
      step(w);
      return true;
  }
  return true;
}

void ThreadsSync::compute(int w) {
  Worker& worker = ensemble_.worker(w);
  const double started = seconds();
  worker.begin_gradient(worker.last_event());
  losses_[static_cast<std::size_t>(w)] =
      run_.objective.gradient(w, w, worker.gradients(), worker.snapshot(),
                              worker.gradient_buffers(), ensemble_.gradient(w));
  pace_.keep(w, seconds() - started, closing_);
  end_span(w, SpanKind::compute, started);
}

bool ThreadsSync::may_go_on(int w, std::int64_t leg) {
  if (closing_.is_set()) return false;
  const Decision decision = decide(leg);
  if (decision.meet && (!meet(w, [&] { between_legs(leg); }) || ended_.load())) return false;
  return !decision.sample || leave_sample(w, leg);
}

ThreadsSync::Decision ThreadsSync::decide(std::int64_t leg) {
  MutexLock lock(decisions_mutex_);
  const auto [found, is_first] = decisions_.try_emplace(leg);
  if (is_first) {
    const Position here = position(leg);
    found->second.meet = must_meet(leg, here);
    found->second.sample = samples_.take(leg, here);
  }
  const Decision decision = found->second;
  if (++found->second.passed < spec_.workers) return decision;
  decisions_.erase(found);
  if (!decision.meet) run_.recorder.progress(position(leg));
  return decision;
}

bool ThreadsSync::must_meet(std::int64_t leg, const Position& here) {
  if (must_end(here) || run_.stop.stop_requested()) return true;
  Checkpoints* const checkpoints = run_.checkpointing.checkpoints;
  if (checkpoints == nullptr || !checkpoints->due(leg, here)) return false;
  cut_due_ = leg;
  return true;
}

bool ThreadsSync::leave_sample(int w, std::int64_t leg) {
  const Worker& worker = ensemble_.worker(w);
  log_.mark(w, EventKind::measured, worker.last_event(), worker);
  const auto i = static_cast<std::size_t>(w);
  const double since = seconds();
  const bool left =
      samples_.leave(w, leg, worker, notes_[i], idle_seconds_[i], [&] { return position(leg); });
  idle_seconds_[i] += end_span(w, SpanKind::wait, since) - since;
  return left;
}

bool ThreadsSync::cut_is_due(std::int64_t leg) {
  MutexLock lock(decisions_mutex_);
  return cut_due_ == leg;
}

bool ThreadsSync::must_end(const Position& here) const {
  return has_diverged() || end_wanted_.load() || spec_.budget.spent(here) ||
         here.gradients >= spec_.end_at_gradients;
}

void ThreadsSync::between_legs(std::int64_t leg) {
  legs_done_.store(leg);
  const Position here = position(leg);
  run_.recorder.progress(here);
  Checkpoints* const checkpoints = run_.checkpointing.checkpoints;
  const bool stopping = run_.stop.stop_requested();
  if (checkpoints != nullptr && !must_end(here) &&
      (stopping ? !checkpoints->has(leg) : cut_is_due(leg)))
    save_cut(leg);
  const bool over = must_end(here);  // also if the evaluation that the cut waited for says so
  if (!over && !stopping) return;
  end_seconds_ = here.seconds;
  stopped_.store(!over);
  ended_.store(true);
  samples_.close();
}

// What the calling thread does until the run is over.
void ThreadsSync::evaluate_samples() {
  while (RoundSamples::Sample* const sample = samples_.next()) {
    sort_by_commit(sample->notes);
    if (sample->gradients[0] > diverged_leg_.load()) {  // the run ended before it
      unsampled_.insert(unsampled_.end(), sample->notes.begin(), sample->notes.end());
      samples_.evaluated();
      continue;
    }
    const std::vector<std::span<const float>> x(sample->x.begin(), sample->x.end()),
        buffers(sample->buffers.begin(), sample->buffers.end());
    sampler_.take(mean_of(x, buffers, sample->gradients, spec_.average_buffers,
                          sampler_.sample_times().evaluates_workers()),
                  sample->totals, sample->notes);
    const bool reached = sampler_.target_reached() && spec_.end_at_gradients == RunSpec::kNoEnd;
    if (reached || sampler_.diverged()) end_wanted_.store(true);
    samples_.evaluated();
  }
}

std::span<float> ThreadsSync::message(int w, std::int64_t exchange) {
  if (spec_.method.reduces_gradients) return ensemble_.gradient(w);
  return messages_[exchange % 2][static_cast<std::size_t>(w)].span();
}

void ThreadsSync::say(int w, std::int64_t exchange) {
  Worker& worker = ensemble_.worker(w);
  if (!spec_.method.reduces_gradients) worker.offer(worker.last_event(), message(w, exchange));
  if (spec_.method.peers == Peers::neighbours) said_->say(w);
}

bool ThreadsSync::hear(int w, std::int64_t exchange) {
  return spec_.method.peers == Peers::all ? reduce(w, exchange) : hear_neighbours(w, exchange);
}

// Each worker adds a part of the vector once all have said theirs.
bool ThreadsSync::reduce(int w, std::int64_t exchange) {
  if (!meet(w)) return false;
  std::vector<const float*> messages;
  for (int i = 0; i < spec_.workers; ++i) messages.push_back(message(i, exchange).data());
  const std::size_t n = messages.size(), i = static_cast<std::size_t>(w);
  const double since = seconds();
  mean_in_order<float>(messages, mean_.data(), message_size_ * i / n, message_size_ * (i + 1) / n,
                       *spec_.backend);
  end_span(w, SpanKind::exchange, since);
  if (!meet(w)) return false;
  if (spec_.method.reduces_gradients) return true;  // the step takes it
  acid::hear(w, ensemble_.worker(w), {.mean = mean_.data()}, log_);
  return true;
}

bool ThreadsSync::hear_neighbours(int w, std::int64_t exchange) {
  const double began = seconds();
  for (const Neighbour& neighbour : weights_.neighbours[static_cast<std::size_t>(w)])
    if (!said_->wait_for(neighbour.worker, exchange + 1)) return false;
  const double since = end_span(w, SpanKind::wait, began);
  idle_seconds_[static_cast<std::size_t>(w)] += since - began;
  const auto sources =
      heard_by(weights_, w, [&](int i) -> const float* { return message(i, exchange).data(); });
  acid::hear(w, ensemble_.worker(w), {.sources = sources}, log_);
  end_span(w, SpanKind::exchange, since);
  return true;
}

void ThreadsSync::step(int w) {
  Worker& worker = ensemble_.worker(w);
  GradientRecords& notes = notes_[static_cast<std::size_t>(w)];
  const Position here = position(worker.gradients() + 1);
  const std::span<const float> own = ensemble_.gradient(w);
  const Commit what{
      .worker = w,
      .time = here.normalised_time,
      .position = here,
      .learning_rate = spec_.learning_rate(here),
      .loss = losses_[static_cast<std::size_t>(w)],
      .gradient = own,
      .direction = spec_.method.reduces_gradients ? std::span<const float>(mean_.span()) : own,
      .is_first = notes.empty()};
  if (commit(what, worker, log_, notes.emplace_back())) return;
  const std::int64_t leg = worker.gradients() - 1;
  std::int64_t first = diverged_leg_.load();
  while (leg < first && !diverged_leg_.compare_exchange_weak(first, leg)) {
  }
}

GradientRecords ThreadsSync::collect_notes() {
  GradientRecords notes = std::move(unsampled_);
  for (GradientRecords& own : notes_) {
    notes.insert(notes.end(), own.begin(), own.end());
    own.clear();
  }
  sort_by_commit(notes);
  return notes;
}

}  // namespace acid

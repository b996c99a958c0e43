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
      all_reduce_(run.spec.method.pattern == Pattern::all_reduce),
      ensemble_(run.spec, run.objective),
      log_(run.spec.workers, run.spec.keep_events, run.recorder),
      timeline_(run.spec.workers),
      notes_(static_cast<std::size_t>(run.spec.workers)),
      losses_(static_cast<std::size_t>(run.spec.workers)),
      idle_seconds_(static_cast<std::size_t>(run.spec.workers)),
      barrier_(run.spec.workers),
      sample_times_(run.spec.cadence),
      sampler_(run.spec, run.objective, run.recorder, sequential_for(run.spec.workers)) {
  bytes_per_round_ = bytes_per_round(run.spec, ensemble_.dimension());
  started_seconds_ = run.clock.seconds();
  if (run.checkpointing.resume != nullptr) {
    double seconds = 0;
    SyncState kept{ensemble_, log_, first_round_, seconds, idle_seconds_, sampler_, notes_};
    load_state(*run.checkpointing.resume, kLayout, kept);
    ensemble_.restore(*run.checkpointing.resume);
    rounds_done_.store(first_round_);
    started_seconds_ -= seconds;
    sample_times_ = sampler_.sample_times();
  }
  if (all_reduce_) {
    averages_.emplace_back(ensemble_.dimension(), *spec_.backend);
    return;
  }
  weights_ = run.spec.method.uniform_weights ? uniform_weights(*run.spec.topology)
                                             : metropolis_weights(*run.spec.topology);
  for (int w = 0; w < run.spec.workers; ++w) {
    averages_.emplace_back(ensemble_.dimension(), *spec_.backend);
    for (auto& published : published_)
      published.emplace_back(ensemble_.dimension(), *spec_.backend);
  }
}

Position ThreadsSync::position(std::int64_t rounds) const {
  return spec_.after_rounds(rounds, seconds(), bytes_per_round_);
}

// No gradient of the round is committed, so whoever goes on from here computes them again.
void ThreadsSync::save_cut(std::int64_t round) {
  MutexLock lock(samples_mutex_);
  while (!samples_.empty() && watching_) samples_changed_.wait(samples_mutex_);
  if (!watching_ || diverged_.load() || end_wanted_.load()) return;
  log_.mark(EventKind::checkpoint, ensemble_.latest_event(), ensemble_);
  log_.flush();
  const Position here = position(round);
  double seconds = here.seconds;
  SyncState kept{ensemble_, log_, round, seconds, idle_seconds_, sampler_, notes_};
  run_.checkpointing.save(round, here, ensemble_.vectors(), kLayout, kept);
}

Outcome ThreadsSync::execute() {
  train();
  log_.flush();
  Totals totals;
  totals.position = position(rounds_done_.load());
  if (stopped_.load()) return ended_early(Ending::stopped, "", totals.position);
  if (sampler_.diverged() || diverged_.load())
    return diverged(sampler_, collect_notes(), totals.position);
  totals.idle_seconds = std::accumulate(idle_seconds_.begin(), idle_seconds_.end(), 0.0);
  totals.learning_rate = spec_.learning_rate(totals.position);
  Outcome outcome = conclude(ensemble_, sampler_,
                             std::max(totals.position.normalised_time, ensemble_.latest_event()),
                             totals, collect_notes());
  outcome.worker_idle_seconds = idle_seconds_;
  outcome.worker_spans = timeline_.take();
  return outcome;
}

void ThreadsSync::train() {
  ThreadGroup workers([this] { abort(); });
  for (int w = 0; w < spec_.workers; ++w) workers.start([this, w] { work(w); });
  try {
    watch();
  } catch (...) {
    abort();  // whoever still sleeps must be let go before the crew can be joined
    throw;
  }
  workers.join();
}

void ThreadsSync::abort() {
  closing_.set();
  stop_watching();  // first: the round's last thread may wait for it inside the barrier
  barrier_.abort();
}

void ThreadsSync::stop_watching() {
  MutexLock lock(samples_mutex_);
  watching_ = false;
  samples_changed_.notify_all();
}

bool ThreadsSync::wait(int w, const std::function<void()>& leader) {
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
  Worker& worker = ensemble_.worker(w);
  const bool combine_first = spec_.method.order == Order::combine_while_adapt;
  const std::int64_t most = std::min(spec_.budget.gradients, spec_.end_at_gradients);
  for (std::int64_t round = first_round_; round * spec_.workers < most; ++round) {
    const double started = seconds();
    worker.begin_gradient(worker.last_event());
    if (!all_reduce_ && combine_first) publish(w, round);
    losses_[static_cast<std::size_t>(w)] =
        run_.objective.gradient(w, w, worker.gradients(), worker.snapshot(),
                                worker.gradient_buffers(), ensemble_.gradient(w));
    pace_.keep(w, seconds() - started, closing_);
    end_span(w, SpanKind::compute, started);
    if (!wait(w, [&] { between_rounds(round); }) || ended_.load()) return;
    if (!(all_reduce_ ? all_reduce(w) : neighbour_average_round(w, round))) return;
  }
  // The last round is whole once everybody has come through it.
  wait(w, [&] { between_rounds(worker.gradients()); });
}

bool ThreadsSync::must_end(const Position& here) const {
  return diverged_.load() || end_wanted_.load() || spec_.budget.spent(here) ||
         here.gradients >= spec_.end_at_gradients;
}

void ThreadsSync::between_rounds(std::int64_t round) {
  rounds_done_.store(round);
  const Position here = position(round);
  run_.recorder.progress(here);
  Checkpoints* const checkpoints = run_.checkpointing.checkpoints;
  const bool stopping = run_.stop.stop_requested();
  if (checkpoints != nullptr && !must_end(here) &&
      (stopping ? !checkpoints->has(round) : checkpoints->due(round, here)))
    save_cut(round);
  const bool over = must_end(here);  // also if the evaluation that the cut waited for says so
  if (over || stopping) {
    stopped_.store(!over);
    ended_.store(true);
    stop_watching();
    return;
  }
  MutexLock lock(samples_mutex_);
  if (!sample_times_.due(here)) return;
  while (!samples_.empty() && watching_) samples_changed_.wait(samples_mutex_);
  if (!sample_times_.due(here)) return;
  Measured measured{
      log_.measure(ensemble_.latest_event(), ensemble_, sample_times_.evaluates_workers()),
      {},
      collect_notes()};
  measured.totals.position = here;
  measured.totals.idle_seconds = std::accumulate(idle_seconds_.begin(), idle_seconds_.end(), 0.0);
  measured.totals.learning_rate = spec_.learning_rate(here);
  samples_.push_back(std::move(measured));
  samples_changed_.notify_all();
}

// The calling thread evaluates what the rounds measured.
void ThreadsSync::watch() {
  while (true) {
    Measured measured;
    {
      MutexLock lock(samples_mutex_);
      while (samples_.empty() && watching_) samples_changed_.wait(samples_mutex_);
      if (samples_.empty()) return;
      measured = std::move(samples_.front());
    }
    sampler_.take(measured.mean, measured.totals, measured.notes);
    const bool reached = sampler_.target_reached() && spec_.end_at_gradients == RunSpec::kNoEnd;
    if (reached || sampler_.diverged()) end_wanted_.store(true);
    MutexLock lock(samples_mutex_);
    samples_.pop_front();  // only now: a waiting round may add the next
    sample_times_ = sampler_.sample_times();
    samples_changed_.notify_all();
  }
}

bool ThreadsSync::all_reduce(int w) {
  std::vector<const float*> gradients;
  for (int i = 0; i < spec_.workers; ++i) gradients.push_back(ensemble_.gradient(i).data());
  const std::size_t d = ensemble_.dimension(), n = gradients.size(),
                    i = static_cast<std::size_t>(w);
  const double since = seconds();
  mean_in_order<float>(gradients, averages_[0].data(), d * i / n, d * (i + 1) / n);
  end_span(w, SpanKind::exchange, since);
  if (!wait(w)) return false;
  commit(w, averages_[0].span());
  return true;
}

bool ThreadsSync::neighbour_average_round(int w, std::int64_t round) {
  if (spec_.method.order == Order::combine_while_adapt) {
    assign_average(w, round, ensemble_.worker(w).last_event());
    commit(w, ensemble_.gradient(w));
    return true;
  }
  commit(w, ensemble_.gradient(w));
  publish(w, round);
  if (!wait(w)) return false;
  assign_average(w, round, ensemble_.worker(w).last_event());
  return true;
}

// Two sets of published vectors, so that a fast worker's next round leaves this round's alone.
void ThreadsSync::publish(int w, std::int64_t round) {
  Worker& worker = ensemble_.worker(w);
  worker.offer(worker.last_event(), published_[round % 2][static_cast<std::size_t>(w)].span());
}

void ThreadsSync::assign_average(int w, std::int64_t round, double t) {
  const double since = seconds();
  const auto i = static_cast<std::size_t>(w);
  std::vector<const float*> vectors;
  for (const Arena<float>& arena : published_[round % 2]) vectors.push_back(arena.data());
  neighbour_average<float>(weights_.self[i], vectors[i], weights_.neighbours[i], vectors,
                           averages_[i].data(), ensemble_.dimension());
  ensemble_.worker(w).assign(t, averages_[i].span());
  log_.add(w, EventKind::assign, t, ensemble_.worker(w));
  end_span(w, SpanKind::exchange, since);
}

void ThreadsSync::commit(int w, std::span<const float> direction) {
  Worker& worker = ensemble_.worker(w);
  GradientRecords& notes = notes_[static_cast<std::size_t>(w)];
  const Position here = position(worker.gradients() + 1);
  const Commit what{.worker = w,
                    .time = here.normalised_time,
                    .position = here,
                    .learning_rate = spec_.learning_rate(here),
                    .loss = losses_[static_cast<std::size_t>(w)],
                    .gradient = ensemble_.gradient(w),
                    .direction = direction,
                    .is_first = notes.empty()};
  if (!acid::commit(what, worker, log_, notes.emplace_back())) diverged_.store(true);
}

GradientRecords ThreadsSync::collect_notes() {
  GradientRecords notes;
  for (GradientRecords& own : notes_) {
    notes.insert(notes.end(), own.begin(), own.end());
    own.clear();
  }
  sort_by_commit(notes);
  return notes;
}

}  // namespace acid

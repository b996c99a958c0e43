#include "engine/drivers/virtual/rounds.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "engine/run/commit.hpp"

namespace acid {
namespace {

constexpr std::size_t kReductionBlock = 1 << 16;  // elements that one task reduces

std::vector<const float*> pointers(const std::vector<Arena<float>>& arenas) {
  std::vector<const float*> list;
  for (const Arena<float>& arena : arenas) list.push_back(arena.data());
  return list;
}

}  // namespace

RoundPlan plan_round(const RunSpec& spec, const NetworkModel& network,
                     const std::vector<double>& bucket_shares, double vector_bytes) {
  RoundPlan plan;
  const int n = spec.workers;
  if (spec.method.pattern == Pattern::all_reduce) {
    std::map<double, double> seconds;  // of a share; most buckets are of one size
    for (const double share : bucket_shares) {
      const auto [known, added] = seconds.try_emplace(share, 0.0);
      if (added) known->second = network.all_reduce_seconds(n, share * vector_bytes);
      plan.bucket_seconds.push_back(known->second);
    }
    plan.bytes =
        static_cast<std::int64_t>(all_reduce_vectors(network.all_reduce, n) * vector_bytes);
    return plan;
  }
  plan.weights = spec.method.uniform_weights ? uniform_weights(*spec.topology)
                                             : metropolis_weights(*spec.topology);
  plan.neighbours.resize(static_cast<std::size_t>(n));
  // A worker's transfers share its link: latencies overlap, bytes add up.
  for (int i = 0; i < n; ++i) {
    NeighbourCost cost;
    for (const Neighbour& neighbour : plan.weights.neighbours[static_cast<std::size_t>(i)]) {
      plan.neighbours[static_cast<std::size_t>(i)].push_back(neighbour.worker);
      const LinkCost& link = network.between(i, neighbour.worker);
      cost.latency_seconds = std::max(cost.latency_seconds, link.latency_seconds);
      cost.transfer_seconds += link.transfer_seconds(vector_bytes);
      plan.bytes += static_cast<std::int64_t>(vector_bytes);
    }
    plan.exchanges.push_back(cost);
  }
  return plan;
}

VirtualSync::VirtualSync(const Run& run, const VirtualOptions& options)
    : run_(run),
      spec_(run.spec),
      options_(options),
      ensemble_(run.spec, run.objective),
      log_(run.spec.workers, run.spec.keep_events, run.recorder),
      bucket_shares_(options.cost.bucket_shares(ensemble_.vector_bytes())),
      round_plan_(plan_round(run.spec, options.network, bucket_shares_, ensemble_.vector_bytes())),
      round_clock_(run.spec.workers, options.cost.forward_share, bucket_shares_),
      timeline_(run.spec.workers),
      losses_(static_cast<std::size_t>(run.spec.workers)),
      pool_(run.spec.workers, options.threads),
      sampler_(run.spec, run.objective, run.recorder,
               [this](int count, const auto& body) { pool_.parallel_for(count, body); }) {
  const bool all_reduce = run.spec.method.pattern == Pattern::all_reduce;
  for (int i = 0; i < (all_reduce ? 1 : run.spec.workers); ++i)
    averages_.emplace_back(ensemble_.dimension(), *spec_.backend);
  for (int i = 0; i < (all_reduce ? 0 : run.spec.workers); ++i)
    published_.emplace_back(ensemble_.dimension(), *spec_.backend);
  if (run.checkpointing.resume == nullptr) return;
  load_state(*run.checkpointing.resume, kLayout, *this);
  ensemble_.restore(*run.checkpointing.resume);
}

void VirtualSync::save_cut() {
  const double t = std::max(totals_.position.normalised_time, ensemble_.latest_event());
  log_.mark(EventKind::checkpoint, t, ensemble_);
  log_.flush();
  run_.checkpointing.save(round_, totals_.position, ensemble_.vectors(), kLayout, *this);
}

bool VirtualSync::budget_spent() {
  const Budget& budget = spec_.budget;
  const Position& now = totals_.position;
  if (now.gradients >= budget.gradients || now.normalised_time >= budget.normalised_time ||
      static_cast<double>(now.bytes) >= budget.bytes)
    return true;
  if (budget.seconds == kNever) return false;
  if (!ahead_) ahead_ = look_ahead();
  // What rounding alone puts beyond the limit is not late.
  return ahead_->seconds > budget.seconds * (1 + 1e-9);
}

Outcome VirtualSync::execute() {
  Checkpoints* const checkpoints = run_.checkpointing.checkpoints;
  while (true) {
    // Before the sample of this round, like every cut: one step names one moment.
    const bool stopping = run_.stop.stop_requested() && !budget_spent();
    if (checkpoints != nullptr &&
        (stopping ? !checkpoints->has(round_) : checkpoints->due(round_, totals_.position)))
      save_cut();
    if (stopping) return ended_early(Ending::stopped, "", totals_.position);
    if (sampler_.sample_times().due(totals_.position) && !budget_spent()) take_sample();
    if (sampler_.diverged()) return diverged_now();
    if (budget_spent() || sampler_.target_reached()) break;
    if (spec_.method.pattern == Pattern::all_reduce)
      all_reduce_round();
    else
      neighbour_round();
    run_.recorder.progress(totals_.position);
    if (not_finite_.load(std::memory_order_relaxed)) return diverged_now();
  }
  log_.flush();
  const double t_end = std::max(totals_.position.normalised_time, ensemble_.latest_event());
  Outcome outcome = conclude(ensemble_, sampler_, t_end, totals_, notes_);
  outcome.worker_idle_seconds = round_clock_.idle_seconds();
  outcome.worker_spans = timeline_.take();
  return outcome;
}

Outcome VirtualSync::diverged_now() {
  log_.flush();
  return diverged(sampler_, notes_, totals_.position);
}

void VirtualSync::compute_gradients() {
  for (int w = 0; w < spec_.workers; ++w)
    pool_.submit(w, ChainPool::kNoChain, ChainPool::Weight::heavy, [this, w](int lane) {
      Worker& worker = ensemble_.worker(w);
      worker.begin_gradient(worker.last_event());
      losses_[static_cast<std::size_t>(w)] =
          run_.objective.gradient(lane, w, worker.gradients(), worker.snapshot(),
                                  worker.gradient_buffers(), ensemble_.gradient(w));
    });
}

template <class DirectionOf>
void VirtualSync::commit_all(DirectionOf direction_of) {
  const bool first = notes_.empty();
  for (int w = 0; w < spec_.workers; ++w) {
    GradientRecord& note = notes_.emplace_back();
    pool_.submit(w, ChainPool::kNoChain, ChainPool::Weight::heavy,
                 [this, w, &note, first, direction_of, here = totals_.position,
                  rate = totals_.learning_rate](int) {
                   const Commit what{.worker = w,
                                     .time = here.normalised_time,
                                     .position = here,
                                     .learning_rate = rate,
                                     .loss = losses_[static_cast<std::size_t>(w)],
                                     .gradient = ensemble_.gradient(w),
                                     .direction = direction_of(w),
                                     .is_first = first};
                   if (!commit(what, ensemble_.worker(w), log_, note))
                     not_finite_.store(true, std::memory_order_relaxed);
                 });
  }
}

void VirtualSync::all_reduce_round() {
  compute_gradients();
  pool_.wait_all();
  std::vector<const float*> gradients;
  for (int w = 0; w < spec_.workers; ++w) gradients.push_back(ensemble_.gradient(w).data());
  const std::size_t d = ensemble_.dimension();
  const auto blocks = static_cast<int>((d + kReductionBlock - 1) / kReductionBlock);
  pool_.parallel_for(blocks, [&](int, int block) {
    const std::size_t begin = static_cast<std::size_t>(block) * kReductionBlock;
    mean_in_order<float>(gradients, averages_[0].data(), begin,
                         std::min(d, begin + kReductionBlock));
  });
  advance_clock();
  commit_all([this](int) { return std::as_const(averages_[0]).span(); });
  pool_.wait_all();
}

void VirtualSync::neighbour_round() {
  const bool combine_first = spec_.method.order == Order::combine_while_adapt;
  compute_gradients();
  pool_.wait_all();
  advance_clock();
  const double t = totals_.position.normalised_time;
  const auto publish = [&] {
    pool_.parallel_for(spec_.workers, [&](int, int w) {
      ensemble_.worker(w).offer(combine_first ? ensemble_.worker(w).last_event() : t,
                                published_[static_cast<std::size_t>(w)].span());
    });
  };
  const auto average = [&] {
    const std::vector<const float*> vectors = pointers(published_);
    pool_.parallel_for(spec_.workers, [&](int, int w) {
      const auto i = static_cast<std::size_t>(w);
      neighbour_average<float>(round_plan_.weights.self[i], vectors[i],
                               round_plan_.weights.neighbours[i], vectors, averages_[i].data(),
                               ensemble_.dimension());
      Worker& worker = ensemble_.worker(w);
      const double when = combine_first ? worker.last_event() : t;
      worker.assign(when, averages_[i].span());
      log_.add(w, EventKind::assign, when, worker);
    });
  };
  const auto own_gradient = [this](int w) -> std::span<const float> {
    return ensemble_.gradient(w);
  };
  if (combine_first) {
    publish();
    average();
    commit_all(own_gradient);
    pool_.wait_all();
  } else {
    commit_all(own_gradient);
    pool_.wait_all();
    publish();
    average();
  }
}

// Durations never depend on parameters, so a round's end is known before it begins.
VirtualSync::Ahead VirtualSync::look_ahead() const {
  Ahead next{.clock = round_clock_, .work = {}};
  const double share = options_.cost.optimizer_share;
  const bool step_follows = spec_.method.order == Order::adapt_then_combine &&
                            spec_.method.pattern == Pattern::neighbours;
  for (int w = 0; w < spec_.workers; ++w) {
    const double start = round_clock_.ready_seconds(w);
    const double gradient = options_.compute.draw_seconds(w, round_, spec_.seeds);
    const double step = share * gradient;
    // A step that follows its gradient at once may fall into a pause as well.
    const double over =
        options_.compute.end_seconds(w, start, step_follows ? gradient + step : gradient);
    next.work.push_back({step_follows ? over - start - step : over - start, step});
  }
  if (spec_.method.pattern == Pattern::all_reduce)
    next.seconds = next.clock.all_reduce(next.work, round_plan_.bucket_seconds);
  else if (step_follows)
    next.seconds = next.clock.sequential(next.work, round_plan_.exchanges, round_plan_.neighbours);
  else
    next.seconds = next.clock.overlapped(next.work, round_plan_.exchanges, round_plan_.neighbours);
  return next;
}

void VirtualSync::advance_clock() {
  if (!ahead_) ahead_ = look_ahead();
  add_spans();
  round_clock_ = std::move(ahead_->clock);
  Position& position = totals_.position;
  position.seconds = ahead_->seconds;
  ahead_.reset();
  ++round_;
  position.gradients += spec_.workers;
  position.normalised_time = static_cast<double>(round_);
  position.bytes += round_plan_.bytes;
  const auto& idle = round_clock_.idle_seconds();
  totals_.idle_seconds = std::accumulate(idle.begin(), idle.end(), 0.0);
  totals_.learning_rate = spec_.learning_rate(position);
}

// Until those it waits for have computed, a worker waits; then the exchange is on. After an
// all-reduce it takes the optimiser's step, otherwise that was part of computing.
void VirtualSync::add_spans() {
  const bool all_reduce = spec_.method.pattern == Pattern::all_reduce;
  const auto computed = [&](std::size_t i) {
    const RoundWork& work = ahead_->work[i];
    return round_clock_.ready_seconds(static_cast<int>(i)) + work.gradient_seconds +
           (all_reduce ? 0 : work.optimizer_seconds);
  };
  double slowest = 0;
  for (std::size_t i = 0; i < ahead_->work.size(); ++i) slowest = std::max(slowest, computed(i));
  for (std::size_t i = 0; i < ahead_->work.size(); ++i) {
    const int w = static_cast<int>(i);
    const double done = ahead_->clock.ready_seconds(w);
    const double exchanged = done - (all_reduce ? ahead_->work[i].optimizer_seconds : 0);
    double others = slowest;
    if (!all_reduce) {
      others = computed(i);
      for (const int j : round_plan_.neighbours[i])
        others = std::max(others, computed(static_cast<std::size_t>(j)));
    }
    others = std::min(others, exchanged);
    timeline_.add(w, SpanKind::compute, round_clock_.ready_seconds(w), computed(i));
    if (others > computed(i)) timeline_.add(w, SpanKind::wait, computed(i), others);
    if (exchanged > others) timeline_.add(w, SpanKind::exchange, others, exchanged);
    if (done > exchanged) timeline_.add(w, SpanKind::compute, exchanged, done);
  }
}

void VirtualSync::take_sample() {
  const double t = std::max(totals_.position.normalised_time, ensemble_.latest_event());
  sampler_.take(log_.measure(t, ensemble_, sampler_.sample_times().evaluates_workers()), totals_,
                notes_);
  notes_.clear();
}

}  // namespace acid

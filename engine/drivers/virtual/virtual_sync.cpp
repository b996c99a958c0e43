#include "engine/drivers/virtual/virtual_sync.hpp"

#include <algorithm>
#include <numeric>

#include "engine/run/commit.hpp"

namespace acid {
namespace {

constexpr std::size_t kReductionBlock = 1 << 16;  // elements that one task reduces

double message_bytes(const RunSpec& spec, std::size_t dimension) {
  return static_cast<double>(spec.method.packed_message(spec.travelling(dimension)).bytes());
}

}  // namespace

VirtualSync::VirtualSync(const Run& run, const VirtualOptions& options)
    : run_(run),
      spec_(run.spec),
      options_(options),
      shell_(run, [this](int count, const auto& body) { pool_.parallel_for(count, body); },
             {.gradients = options.computes(), .computes = options.computes()}),
      peers_(run.spec, shell_.ensemble.dimension(), options.network.all_reduce),
      message_size_(run.spec.method.message().floats(shell_.ensemble.dimension())),
      bucket_shares_(
          options.cost.bucket_shares(message_bytes(run.spec, shell_.ensemble.dimension()))),
      costs_(run.spec, peers_, options.network, options.cost.exchange_seconds, bucket_shares_),
      round_clock_(run.spec.workers, options.cost.forward_share, bucket_shares_),
      timeline_(options.computes() ? run.spec.workers : 0),
      mean_(run.spec.method.hears_all() ? message_size_ : 0, *run.spec.backend),
      computed_(static_cast<std::size_t>(run.spec.workers)),
      pool_(run.spec.workers, options.threads) {
  if (!run.spec.method.reduces_gradients && options.computes())
    for (int w = 0; w < run.spec.workers; ++w)
      messages_.emplace_back(message_size_, *spec_.backend);
  shell_.resume(virtual_state_layout(spec_), *this);
}

void VirtualSync::save_cut() {
  shell_.mark_cut(shell_.mixing_time(totals_.position.normalised_time));
  shell_.save(leg_, totals_.position, virtual_state_layout(spec_), *this);
}

bool VirtualSync::budget_spent() {
  const Budget& budget = spec_.budget;
  const Position& now = totals_.position;
  if (now.gradients >= budget.gradients || now.normalised_time >= budget.normalised_time ||
      static_cast<double>(now.bytes) >= budget.bytes)
    return true;
  if (budget.seconds == kNever) return false;
  if (!ahead_) ahead_ = look_ahead();
  // A time beyond the limit by rounding alone is not late.
  return ahead_->seconds > budget.seconds * (1 + 1e-9);
}

Outcome VirtualSync::execute() {
  while (true) {
    // A cut comes before the sample of the same leg, so that one step names one moment.
    const bool open = spec_.method.round.is_open(leg_);  // messages on their way are not saved
    const bool stopping = !open && run_.stop.stop_requested() && !budget_spent();
    if (!open &&
        (stopping ? shell_.last_cut_is_due(leg_) : shell_.cut_is_due(leg_, totals_.position)))
      save_cut();
    if (stopping) return shell_.stopped(totals_.position);
    if (options_.computes() && shell_.sampler.sample_times().due(totals_.position) &&
        !budget_spent())
      take_sample();
    if (budget_spent() || shell_.enough()) break;
    go_through(spec_.method.round.leg(leg_));
    run_.recorder.progress(totals_.position);
    if (not_finite_.load(std::memory_order_relaxed)) break;
  }
  return shell_.end(shell_.mixing_time(totals_.position.normalised_time), totals_, notes_,
                    [this](Outcome& outcome) {
                      outcome.worker_idle_seconds = round_clock_.idle_seconds();
                      outcome.worker_spans = timeline_.take();
                    });
}

void VirtualSync::compute_gradients() {
  for (int w = 0; w < spec_.workers; ++w)
    pool_.submit(w, ChainPool::kNoChain, ChainPool::Weight::heavy, [this, w](int lane) {
      Worker& worker = shell_.ensemble.worker(w);
      worker.begin_gradient(worker.last_event());
      Computed& computed = computed_[static_cast<std::size_t>(w)];
      computed.loss =
          run_.objective.gradient(lane, w, worker.gradients(), worker.snapshot(),
                                  worker.gradient_buffers(), shell_.ensemble.gradient(w));
      computed.norm = norm_before_hearing(spec_, worker);
    });
}

void VirtualSync::go_through(const Leg& leg) {
  std::int64_t exchange = spec_.method.round.heard_before(leg_);
  advance_clock();
  if (!options_.computes()) return;
  for (const Phase phase : leg) {
    if (phase == Phase::gradient) compute_gradients();
    if (phase == Phase::say) say();
    if (phase == Phase::hear) hear(exchange++);
    if (phase == Phase::step) step();
    pool_.wait_all();
  }
  totals_.position.bytes += shell_.ensemble.extra_bytes();
}

std::span<float> VirtualSync::message(int w) {
  if (spec_.method.reduces_gradients) return shell_.ensemble.gradient(w);
  return messages_[static_cast<std::size_t>(w)].span();
}

void VirtualSync::say() {
  if (spec_.method.reduces_gradients) return;
  for (int w = 0; w < spec_.workers; ++w)
    pool_.submit(w, ChainPool::kNoChain, ChainPool::Weight::heavy, [this, w](int) {
      Worker& worker = shell_.ensemble.worker(w);
      worker.offer(worker.last_event(), message(w));
    });
}

void VirtualSync::hear(std::int64_t exchange) {
  const bool with_all = spec_.method.hears_all_in(exchange);
  const std::size_t size = peers_.form().floats(exchange);
  std::vector<const float*> messages;
  if (with_all) {
    for (int w = 0; w < spec_.workers; ++w) messages.push_back(message(w).data());
    add(messages, size, mean_);
  }
  if (spec_.method.reduces_gradients) return;  // the step takes it
  std::shared_ptr<const PeerSchedule::Exchange> peers;
  if (!with_all) peers = peers_.exchange(exchange);
  const bool in_groups = !with_all && peers_.sums_in(exchange);
  if (in_groups) add_groups(*peers, size);
  const auto message_of = [&](int i) -> const float* { return message(i).data(); };
  pool_.parallel_for(spec_.workers, [&](int, int w) {
    Worker& worker = shell_.ensemble.worker(w);
    if (!with_all && !in_groups) return acid::hear(w, worker, *peers, message_of, shell_.log);
    const Arena<float>& mean =
        with_all ? mean_ : group_means_[peers->group[static_cast<std::size_t>(w)]];
    acid::hear(w, worker, {.mean = mean.data(), .own = message_of(w), .all = messages}, shell_.log);
  });
}

void VirtualSync::add_groups(const PeerSchedule::Exchange& peers, std::size_t size) {
  while (group_means_.size() < peers.groups.size())
    group_means_.emplace_back(message_size_, *spec_.backend);
  for (std::size_t g = 0; g < peers.groups.size(); ++g) {
    std::vector<const float*> messages;
    for (const int member : peers.groups[g]) messages.push_back(message(member).data());
    add(messages, size, group_means_[g]);
  }
}

void VirtualSync::add(const std::vector<const float*>& messages, std::size_t size,
                      Arena<float>& mean) {
  const auto blocks = static_cast<int>((size + kReductionBlock - 1) / kReductionBlock);
  pool_.parallel_for(blocks, [&](int, int block) {
    const std::size_t begin = static_cast<std::size_t>(block) * kReductionBlock;
    mean_in_order<float>(messages, mean.data(), begin, std::min(size, begin + kReductionBlock),
                         *spec_.backend);
  });
}

// The step is at the end of the leg, also where other phases follow it.
void VirtualSync::step() {
  const bool first = notes_.empty();
  for (int w = 0; w < spec_.workers; ++w) {
    GradientRecord& note = notes_.emplace_back();
    pool_.submit(
        w, ChainPool::kNoChain, ChainPool::Weight::heavy,
        [this, w, &note, first, here = totals_.position, rate = totals_.learning_rate](int) {
          const std::span<const float> own = shell_.ensemble.gradient(w);
          const Commit what{.worker = w,
                            .time = here.normalised_time,
                            .position = here,
                            .learning_rate = rate,
                            .loss = computed_[static_cast<std::size_t>(w)].loss,
                            .gradient = own,
                            .direction = spec_.method.reduces_gradients
                                             ? std::span<const float>(mean_.span())
                                             : own,
                            .is_first = first,
                            .norm = computed_[static_cast<std::size_t>(w)].norm};
          if (!commit(what, shell_.ensemble.worker(w), shell_.log, note))
            not_finite_.store(true, std::memory_order_relaxed);
        });
  }
}

// Durations never depend on parameters, so a leg's end is known before it begins.
VirtualSync::Ahead VirtualSync::look_ahead() {
  const Leg& leg = spec_.method.round.leg(leg_);
  Ahead next{.clock = round_clock_, .work = {}, .costs = {}};
  const double share = options_.cost.optimizer_share;
  // A step that follows its gradient at once may fall into a pause as well.
  const auto gradient_at = std::find(leg.begin(), leg.end(), Phase::gradient);
  const bool step_follows = *(gradient_at + 1) == Phase::step;
  for (int w = 0; w < spec_.workers; ++w) {
    const double start = round_clock_.ready_seconds(w);
    const double gradient = options_.compute.draw_seconds(w, leg_, spec_.seeds);
    const double step = share * gradient;
    const double over =
        options_.compute.end_seconds(w, start, step_follows ? gradient + step : gradient);
    next.work.push_back({step_follows ? over - start - step : over - start, step});
  }
  const Round& round = spec_.method.round;
  for (std::int64_t e = round.said_before(leg_); e < round.said_before(leg_ + 1); ++e)
    next.costs.push_back(costs_.of(e));
  next.seconds = next.clock.advance(leg, next.work, next.costs);
  return next;
}

void VirtualSync::advance_clock() {
  if (!ahead_) ahead_ = look_ahead();
  if (options_.computes()) add_spans();
  round_clock_ = std::move(ahead_->clock);
  Position& position = totals_.position;
  position = peers_.after_legs(++leg_, ahead_->seconds);
  ahead_.reset();
  const auto& idle = round_clock_.idle_seconds();
  totals_.idle_seconds = std::accumulate(idle.begin(), idle.end(), 0.0);
  totals_.learning_rate = spec_.learning_rate(position);
}

// A worker waits until the workers it hears have computed; then it exchanges. A step that follows
// an all-reduce of the gradient comes after both; otherwise it is part of computing.
void VirtualSync::add_spans() {
  const Leg& leg = spec_.method.round.leg(leg_);
  // The last message that is heard; a leg without one has no worker to wait for.
  const auto costs =
      costs_.of(std::max<std::int64_t>(0, spec_.method.round.heard_before(leg_ + 1) - 1));
  const bool with_all = costs->neighbours.empty();
  const bool step_is_last = with_all && comes_before(leg, Phase::hear, Phase::step);
  const auto computed = [&](std::size_t i) {
    const RoundWork& work = ahead_->work[i];
    return round_clock_.ready_seconds(static_cast<int>(i)) + work.gradient_seconds +
           (step_is_last ? 0 : work.optimizer_seconds);
  };
  double slowest = 0;
  for (std::size_t i = 0; i < ahead_->work.size(); ++i) slowest = std::max(slowest, computed(i));
  for (std::size_t i = 0; i < ahead_->work.size(); ++i) {
    const int w = static_cast<int>(i);
    const double done = ahead_->clock.ready_seconds(w);
    const double exchanged = done - (step_is_last ? ahead_->work[i].optimizer_seconds : 0);
    double others = slowest;
    if (!with_all) {
      others = computed(i);
      for (const int j : costs->neighbours[i])
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
  shell_.sampler.take(shell_.measure(shell_.mixing_time(totals_.position.normalised_time)), totals_,
                      notes_);
  notes_.clear();
}

}  // namespace acid

#include "engine/drivers/mpi/rounds.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/base/error.hpp"
#include "engine/drivers/mpi/process.hpp"
#include "engine/run/commit.hpp"

namespace acid {
namespace {

MixingMatrix weights_of(const RunSpec& spec) {
  if (spec.method.pattern != Pattern::neighbours) return {};
  return spec.method.uniform_weights ? uniform_weights(*spec.topology)
                                     : metropolis_weights(*spec.topology);
}

std::int64_t rounds_of(const RunSpec& spec) {
  const std::int64_t gradients = std::min(spec.budget.gradients, spec.end_at_gradients);
  return gradients / spec.workers + (gradients % spec.workers == 0 ? 0 : 1);
}

}  // namespace

MpiSync::MpiSync(const Run& run, const MpiOptions& options, Post& post,
                 RoundCoordinator* coordinator, Collector* collector)
    : run_(run),
      spec_(run.spec),
      options_(options),
      post_(post),
      pace_(options.slow_factor, run.clock),
      coordinator_(coordinator),
      collector_(collector),
      rank_(post.rank()),
      all_reduces_(run.spec.method.pattern == Pattern::all_reduce),
      combines_first_(!all_reduces_ && run.spec.method.order == Order::combine_while_adapt),
      bytes_per_round_(bytes_per_round(run.spec, run.objective.dimension())),
      last_round_(rounds_of(run.spec)),
      settings_(worker_settings(run.spec, run.objective)),
      weights_(weights_of(run.spec)),
      buckets_(settings_.dimension),
      memory_(settings_, 1),
      worker_(settings_, memory_),
      sent_gradient_(run.spec.backend->is_host_memory() ? 0 : settings_.dimension,
                     run.spec.backend->messages()),
      gradient_(run.spec.backend->is_host_memory() ? worker_.gradient() : sent_gradient_.span()),
      average_(all_reduces_ ? 0 : settings_.dimension, run.spec.backend->messages()),
      reporter_(run.spec, post),
      missing_(buckets_.size()),
      started_seconds_(run.clock.seconds()),
      start_(post, worker_, [this](Start& start) { started(start); }) {
  std::vector<float> x0(settings_.dimension), buffers(settings_.buffer_size);
  run.objective.start(rank_, x0, buffers);
  worker_.start(x0, buffers);
  const auto over = [this] { exchange_is_over(); };
  if (all_reduces_)
    all_reduce_.emplace(post, buckets_, gradient_, run.spec.backend->messages(),
                        options.library_sum, over);
  else
    neighbours_.emplace(post, weights_.neighbours[static_cast<std::size_t>(rank_)],
                        settings_.dimension, run.spec.backend->messages(), over);
}

Position MpiSync::position(std::int64_t rounds) const {
  return spec_.after_rounds(rounds, run_.clock.seconds() - started_seconds_, bytes_per_round_);
}

// ---------------------------------------------------------------------------------------------
// The gradient thread.

void MpiSync::train() {
  const auto first = wait_for_start();
  if (!first) return;
  for (std::int64_t round = *first; round < last_round_; ++round) {
    compute();
    if (!may_commit(round) || !finish_round(round)) return;
    post_.submit(0, mail_header(MailKind::progress, worker_.gradients(), diverged_));
  }
  may_commit(last_round_);
}

std::optional<std::int64_t> MpiSync::wait_for_start() {
  MutexLock lock(mutex_);
  while (!begun_ && !closing_) changed_.wait(mutex_);
  if (!begun_) return std::nullopt;
  return worker_.gradients();
}

// A slow process has its gradient late, and all parts of it.
void MpiSync::compute() {
  const double began = run_.clock.seconds();
  pace_.begin();
  worker_.begin_gradient(worker_.last_event());
  if (combines_first_) publish();
  for (std::size_t b = 0; b < buckets_.size(); ++b)
    missing_[b] = buckets_.range(b).second - buckets_.range(b).first;
  if (all_reduces_) begin_exchange();
  GradientReady ready;
  if (all_reduces_ && options_.slow_factor <= 1)
    ready = [this](std::size_t begin, std::size_t end) { hand_over_parts(begin, end); };
  loss_ = run_.objective.gradient_in_parts(0, rank_, worker_.gradients(), worker_.snapshot(),
                                           worker_.gradient_buffers(), gradient_, ready);
  hold_until(pace_.end());
  end_span(SpanKind::compute, began);
  if (all_reduces_) hand_over_rest();
}

void MpiSync::hand_over_parts(std::size_t first, std::size_t last) {
  bool news = false;
  while (first < last) {
    const std::size_t bucket = buckets_.holding(first);
    const std::size_t end = std::min(last, buckets_.range(bucket).second);
    ACID_ASSERT(end - first <= missing_[bucket], "elements {} to {} are final twice", first, end);
    missing_[bucket] -= end - first;
    first = end;
    if (missing_[bucket] > 0) continue;
    news = true;
    MutexLock lock(mutex_);
    final_buckets_.push_back(bucket);
  }
  if (news) post_.wake();
}

void MpiSync::hand_over_rest() {
  {
    MutexLock lock(mutex_);
    for (std::size_t b = 0; b < buckets_.size(); ++b)
      if (missing_[b] > 0) final_buckets_.push_back(b);
  }
  post_.wake();
}

void MpiSync::begin_exchange() {
  MutexLock lock(mutex_);
  exchanging_ = true;
}

void MpiSync::publish() {
  begin_exchange();
  worker_.offer(worker_.last_event(), neighbours_->published());
  {
    MutexLock lock(mutex_);
    published_ = combines_first_ ? worker_.gradients() : worker_.gradients() - 1;
  }
  post_.wake();
}

void MpiSync::hold_until(double until) {
  if (options_.slow_factor <= 1) return;
  MutexLock lock(mutex_);
  while (!closing_ && run_.clock.seconds() < until)
    changed_.wait_for(mutex_, until - run_.clock.seconds());
}

// Leaves the marks that rank 0 wants before a round's commit.
bool MpiSync::may_commit(std::int64_t round) {
  while (true) {
    const Next next = wait_for_directive(round);
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
        marked_cut_ = round;
        reporter_.mark(MarkKind::checkpoint, t, worker_, report_);
        break;
      case Next::last_cut:
      case Next::end:
        // What was begun for this round is brought to its end, so that nothing is left on its way.
        if (!wait_for_exchange()) return false;
        if (next == Next::end) report_.spans = timeline_.take().front();
        reporter_.mark(next == Next::end ? MarkKind::end : MarkKind::last_checkpoint, t, worker_,
                       report_);
        return false;
    }
  }
}

MpiSync::Next MpiSync::wait_for_directive(std::int64_t round) {
  const double since = run_.clock.seconds();
  MutexLock lock(mutex_);
  while (true) {
    if (const auto what = next(round)) {
      report_.idle_seconds += end_span(SpanKind::wait, since);
      return *what;
    }
    changed_.wait(mutex_);
  }
}

std::optional<MpiSync::Next> MpiSync::next(std::int64_t round) const {
  if (closing_) return Next::abandoned;
  if (directive_.cut == round && marked_cut_ != round) return Next::cut;
  if (directive_.end == round) return directive_.save ? Next::last_cut : Next::end;
  if (directive_.allowed <= round) return std::nullopt;
  return directive_.sample == round ? Next::sample_and_commit : Next::commit;
}

bool MpiSync::wait_for_exchange() {
  const double since = run_.clock.seconds();
  MutexLock lock(mutex_);
  while (exchanging_ && !closing_) changed_.wait(mutex_);
  report_.idle_seconds += end_span(SpanKind::exchange, since);
  return !closing_;
}

double MpiSync::end_span(SpanKind kind, double since) {
  const double until = run_.clock.seconds();
  timeline_.add(0, kind, since - started_seconds_, until - started_seconds_);
  return until - since;
}

bool MpiSync::finish_round(std::int64_t round) {
  if (all_reduces_) {
    if (!wait_for_exchange()) return false;
    commit(all_reduce_->mean());
  } else if (combines_first_) {
    if (!wait_for_exchange()) return false;
    assign_average(round);
    commit(gradient_);
  } else {
    commit(gradient_);
    publish();
    if (!wait_for_exchange()) return false;
    assign_average(round);
  }
  return true;
}

void MpiSync::assign_average(std::int64_t round) {
  const auto i = static_cast<std::size_t>(rank_);
  neighbour_average<float>(weights_.self[i], neighbours_->published().data(),
                           weights_.neighbours[i], neighbours_->received(round), average_.data(),
                           settings_.dimension);
  const double t = worker_.last_event();
  worker_.assign(t, average_.span());
  reporter_.log().add(rank_, EventKind::assign, t, worker_);
}

void MpiSync::commit(std::span<const float> direction) {
  const Position here = position(worker_.gradients() + 1);
  const Commit what{.worker = rank_,
                    .time = here.normalised_time,
                    .position = here,
                    .learning_rate = spec_.learning_rate(here),
                    .loss = loss_,
                    .gradient = gradient_,
                    .direction = direction,
                    .is_first = report_.notes.empty()};
  if (!acid::commit(what, worker_, reporter_.log(), report_.notes.emplace_back())) diverged_ = true;
}

void MpiSync::abandon() {
  abandoned_.store(true);
  {
    MutexLock lock(mutex_);
    closing_ = true;
    changed_.notify_all();
  }
  post_.wake();
}

// ---------------------------------------------------------------------------------------------
// The communication thread.

void MpiSync::communicate() {
  std::stop_callback wake_up(run_.stop, [this] { post_.wake(); });
  while (!abandoned_.load() && !(over_ && post_.idle())) {
    post_.pump(kIdleSeconds, [this](const Mail& mail) { deliver(mail); });
    take_handed_over();
    if (run_.stop.stop_requested() && !told_stop_) {
      post_.send(0, mail_header(MailKind::stop));
      told_stop_ = true;
    }
    if (coordinator_ != nullptr) coordinator_->act();
  }
  post_.let_go();
  abandon();
}

void MpiSync::deliver(const Mail& mail) {
  MailReader reader(mail);
  switch (reader.kind()) {
    case MailKind::start:
    case MailKind::start_notes:
    case MailKind::start_vector:
      return start_.deliver(mail);
    case MailKind::slice:
    case MailKind::slice_mean:
    case MailKind::round_ready:
      return all_reduce_->deliver(mail);
    case MailKind::parameters:
      return neighbours_->deliver(mail);
    case MailKind::directive: {
      MutexLock lock(mutex_);
      reader(directive_);
      return changed_.notify_all();
    }
    case MailKind::shut_down:
      over_ = true;
      return;
    default:
      return deliver_to_rank_zero(mail, coordinator_, collector_);
  }
}

void MpiSync::started(Start& start) {
  double seconds = 0;
  ArchiveReader more(start.more);
  more(seconds);
  started_seconds_ = run_.clock.seconds() - seconds;
  if (start.resumed) {
    report_ = std::move(start.report);
    reporter_.log().resume_at(rank_, report_.events);
  }
  MutexLock lock(mutex_);
  begun_ = true;
  changed_.notify_all();
}

void MpiSync::take_handed_over() {
  std::vector<std::size_t> buckets;
  std::optional<std::int64_t> round;
  {
    MutexLock lock(mutex_);
    buckets.swap(final_buckets_);
    round.swap(published_);
  }
  for (const std::size_t bucket : buckets) all_reduce_->contribute(bucket);
  if (round) neighbours_->publish(*round);
}

void MpiSync::exchange_is_over() {
  MutexLock lock(mutex_);
  exchanging_ = false;
  changed_.notify_all();
}

Outcome run_mpi_sync(const Run& run, const MpiOptions& options) {
  Post post(*options.transport);
  std::optional<Collector> collector;
  std::optional<RoundEvaluator> evaluator;
  if (post.rank() == 0) {
    collector.emplace(run.spec, run.recorder, post);
    post.stay_in_touch([&] { evaluator.emplace(run, post, *collector); });
    evaluator->begin();
  }
  Collector* const collecting = collector ? &*collector : nullptr;
  MpiSync process(run, options, post, evaluator ? &evaluator->coordinator() : nullptr, collecting);
  return run_process(process, evaluator ? &*evaluator : nullptr, collecting, post);
}

}  // namespace acid

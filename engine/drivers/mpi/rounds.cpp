#include "engine/drivers/mpi/rounds.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/base/error.hpp"
#include "engine/drivers/mpi/process.hpp"
#include "engine/run/commit.hpp"

namespace acid {
namespace {

std::int64_t legs_of(const RunSpec& spec) {
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
      bytes_per_message_(bytes_per_message(run.spec, run.objective.dimension())),
      last_leg_(legs_of(run.spec)),
      settings_(worker_settings(run.spec, run.objective)),
      message_size_(run.spec.method.message().floats(settings_.dimension)),
      weights_(weights_of(run.spec)),
      buckets_(message_size_),
      memory_(settings_, 1),
      worker_(settings_, memory_),
      sent_gradient_(run.spec.backend->is_host_memory() ? 0 : settings_.dimension,
                     run.spec.backend->messages()),
      gradient_(run.spec.backend->is_host_memory() ? worker_.gradient() : sent_gradient_.span()),
      message_(run.spec.method.peers == Peers::all && !run.spec.method.reduces_gradients
                   ? message_size_
                   : 0,
               run.spec.backend->messages()),
      reporter_(run.spec, post),
      missing_(buckets_.size()),
      started_seconds_(run.clock.seconds()),
      start_(post, worker_, [this](Start& start) { started(start); }) {
  std::vector<float> x0(settings_.dimension), buffers(settings_.buffer_size);
  run.objective.start(rank_, x0, buffers);
  worker_.start(x0, buffers);
  const auto over = [this] { exchange_is_over(); };
  if (run.spec.method.peers == Peers::all)
    all_reduce_.emplace(post, buckets_,
                        run.spec.method.reduces_gradients ? gradient_ : message_.span(),
                        run.spec.backend->messages(), options.library_sum, over);
  else
    neighbours_.emplace(post, weights_.neighbours[static_cast<std::size_t>(rank_)], message_size_,
                        run.spec.backend->messages(), over);
}

Position MpiSync::position(std::int64_t legs) const {
  return spec_.after_legs(legs, run_.clock.seconds() - started_seconds_, bytes_per_message_);
}

// ---------------------------------------------------------------------------------------------
// The gradient thread.

void MpiSync::train() {
  const auto first = wait_for_start();
  if (!first) return;
  for (std::int64_t leg = *first; leg < last_leg_; ++leg) {
    if (!go_through(
            spec_.method.round, leg, [&] { return may_commit(leg); },
            [this](Phase phase, std::int64_t exchange) { return act(phase, exchange); }))
      return;
    post_.submit(0, mail_header(MailKind::progress, worker_.gradients(), diverged_));
  }
  may_commit(last_leg_);
}

bool MpiSync::act(Phase phase, std::int64_t exchange) {
  switch (phase) {
    case Phase::gradient:
      compute();
      return true;
    case Phase::say:
      say(exchange);
      return true;
    case Phase::hear:
      if (!wait_for_exchange()) return false;
      hear(exchange);
      return true;
    case Phase::step:
      step();
      return true;
  }
  return true;
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
  GradientReady ready;
  if (spec_.method.reduces_gradients) {
    begin_exchange();
    if (options_.slow_factor <= 1)
      ready = [this](std::size_t begin, std::size_t end) { hand_over_parts(begin, end); };
  }
  loss_ = run_.objective.gradient_in_parts(0, rank_, worker_.gradients(), worker_.snapshot(),
                                           worker_.gradient_buffers(), gradient_, ready);
  hold_until(pace_.end());
  end_span(SpanKind::compute, began);
}

// The gradient is the message of methods that reduce it: parts of it have left already.
void MpiSync::say(std::int64_t exchange) {
  if (spec_.method.reduces_gradients) return hand_over_rest();
  begin_exchange();
  const bool to_all = spec_.method.peers == Peers::all;
  worker_.offer(worker_.last_event(), to_all ? message_.span() : neighbours_->published());
  if (to_all) return hand_over_rest();
  {
    MutexLock lock(mutex_);
    published_ = exchange;
  }
  post_.wake();
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
  for (std::size_t b = 0; b < buckets_.size(); ++b)
    missing_[b] = buckets_.range(b).second - buckets_.range(b).first;
  MutexLock lock(mutex_);
  exchanging_ = true;
}

void MpiSync::hold_until(double until) {
  if (options_.slow_factor <= 1) return;
  MutexLock lock(mutex_);
  while (!closing_ && run_.clock.seconds() < until)
    changed_.wait_for(mutex_, until - run_.clock.seconds());
}

// Leaves the marks that rank 0 wants before anything of a leg is heard or committed.
bool MpiSync::may_commit(std::int64_t leg) {
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
        marked_cut_ = leg;
        reporter_.mark(MarkKind::checkpoint, t, worker_, report_);
        break;
      case Next::last_cut:
      case Next::end:
        // What was begun for this leg is brought to its end, so that nothing is left on its way.
        if (!wait_for_exchange()) return false;
        if (next == Next::end) report_.spans = timeline_.take().front();
        reporter_.mark(next == Next::end ? MarkKind::end : MarkKind::last_checkpoint, t, worker_,
                       report_);
        return false;
    }
  }
}

MpiSync::Next MpiSync::wait_for_directive(std::int64_t leg) {
  const double since = run_.clock.seconds();
  MutexLock lock(mutex_);
  while (true) {
    if (const auto what = next(leg)) {
      report_.idle_seconds += end_span(SpanKind::wait, since);
      return *what;
    }
    changed_.wait(mutex_);
  }
}

std::optional<MpiSync::Next> MpiSync::next(std::int64_t leg) const {
  if (closing_) return Next::abandoned;
  if (directive_.cut == leg && marked_cut_ != leg) return Next::cut;
  if (directive_.end == leg) return directive_.save ? Next::last_cut : Next::end;
  if (directive_.allowed <= leg) return std::nullopt;
  return directive_.sample == leg ? Next::sample_and_commit : Next::commit;
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

void MpiSync::hear(std::int64_t exchange) {
  if (spec_.method.reduces_gradients) return;  // the step takes it
  Heard<float> heard;
  std::vector<kernels::Weighted<float>> sources;
  if (all_reduce_) {
    heard.mean = all_reduce_->mean().data();
  } else {
    const std::vector<const float*> received = neighbours_->received(exchange);
    sources = heard_by(weights_, rank_, [&](int i) -> const float* {
      return i == rank_ ? neighbours_->published().data() : received[static_cast<std::size_t>(i)];
    });
    heard.sources = sources;
  }
  acid::hear(rank_, worker_, heard, reporter_.log());
}

void MpiSync::step() {
  const Position here = position(worker_.gradients() + 1);
  const Commit what{.worker = rank_,
                    .time = here.normalised_time,
                    .position = here,
                    .learning_rate = spec_.learning_rate(here),
                    .loss = loss_,
                    .gradient = gradient_,
                    .direction = spec_.method.reduces_gradients ? all_reduce_->mean()
                                                                : std::span<const float>(gradient_),
                    .is_first = report_.notes.empty()};
  if (!commit(what, worker_, reporter_.log(), report_.notes.emplace_back())) diverged_ = true;
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
  std::optional<std::int64_t> exchange;
  {
    MutexLock lock(mutex_);
    buckets.swap(final_buckets_);
    exchange.swap(published_);
  }
  for (const std::size_t bucket : buckets) all_reduce_->contribute(bucket);
  if (exchange) neighbours_->publish(*exchange);
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

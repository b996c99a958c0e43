#include "engine/drivers/mpi/async_process.hpp"

#include <algorithm>
#include <utility>

namespace acid {
namespace {

// How often to check whether a swap between devices is over: nothing wakes a thread for it.
constexpr double kSwapSeconds = 0.1e-3;

}  // namespace

AsyncProcess::AsyncProcess(const Run& run, const MpiOptions& options, Post& post,
                           AsyncEvaluator* evaluator, Collector* collector)
    : Process(run, post, evaluator, collector),
      async_coordinator_(evaluator == nullptr ? nullptr : &evaluator->coordinator()),
      server_(evaluator == nullptr ? nullptr : evaluator->server()),
      rank_(post.rank()),
      worker_(run, post),
      visits_(run.spec.method.has_server()
                  ? std::optional<ServerVisits>(std::in_place, run, post, worker_)
                  : std::nullopt),
      gradients_(run, options, post, worker_, visits_ ? &*visits_ : nullptr),
      progress_(run, options, post),
      exchange_(run, options, post, worker_, progress_),
      marks_(run.spec),
      start_(post, worker_.state(), [this](Start& start) { started(start); }) {}

double AsyncProcess::act() {
  exchange_.finish_swap();
  if (server_ != nullptr) server_->act();
  act_on_marks();
  {
    MutexLock lock(worker_.mutex);
    progress_.tell(worker_);
  }
  const double patience = progress_.seconds_to_next();
  return exchange_.is_swapping() ? std::min(patience, kSwapSeconds) : patience;
}

void AsyncProcess::deliver_own(const Mail& mail) {
  if (!mail.lost.empty()) return lose(mail);
  MailReader reader(mail);
  switch (reader.kind()) {
    case MailKind::start:
    case MailKind::start_notes:
    case MailKind::start_vector:
      return start_.deliver(mail);
    case MailKind::clock:
      return hear_clock(reader);
    case MailKind::ask_cut:
      return promise_cut();
    case MailKind::cut: {
      const auto [count, sample] = reader.values<std::int64_t, bool>();
      marks_.cut_at(count, sample);
      MutexLock lock(worker_.mutex);
      stop_clock_at_next_mark();
      return worker_.time().thaw();
    }
    case MailKind::stop_committing:
      must_close_ = true;
      return gradients_.close();
    case MailKind::end: {
      const auto [count, save] = reader.values<std::int64_t, bool>();
      marks_.end_at(count, save);
      MutexLock lock(worker_.mutex);
      worker_.time().hear(count);
      return stop_clock_at_next_mark();
    }
    case MailKind::ready:
    case MailKind::go:
    case MailKind::answer:
    case MailKind::offer:
    case MailKind::rest:
    case MailKind::lent:
    case MailKind::returned:
      return exchange_.deliver(mail);
    case MailKind::said:
      return server_->deliver(mail);
    case MailKind::reply:
    case MailKind::last_reply:
      return visits_->deliver(mail, [this] { gradients_.begin(granted_); });
    case MailKind::mark: {
      const auto [kind] = reader.values<MarkKind>();
      if (server_ != nullptr) server_->pass_mark(mail.from, kind);
      return deliver_to_rank_zero(mail);
    }
    default:
      return deliver_to_rank_zero(mail);
  }
}

// The first sample is of the start itself, so its mark is placed before anything can happen.
void AsyncProcess::started(Start& start) {
  ArchiveReader more(start.more);
  std::int64_t known = 0, count = 0;
  std::vector<std::int64_t> granted;
  double seconds = 0;
  more(known, count, granted, seconds, marks_);
  marks_.begin();
  {
    MutexLock lock(worker_.mutex);
    worker_.start(start, seconds, count, known);
    progress_.begin_at(worker_.gradients());
    stop_clock_at_next_mark();
  }
  started_ = true;
  while (place_mark()) {
  }
  if (must_promise_) promise_cut();
  granted_ = granted[static_cast<std::size_t>(rank_)];
  if (!visits_ || !start.resumed) return gradients_.begin(granted_);
  MutexLock lock(worker_.mutex);
  visits_->assert_locked();
  visits_->resume();
}

void AsyncProcess::hear_clock(MailReader& reader) {
  using Count = std::int64_t;
  const auto [total, own, granted, returned, is_last, arrivals] =
      reader.values<Count, Count, Count, Count, bool, Count>();
  {
    MutexLock lock(worker_.mutex);
    if (visits_) {
      visits_->assert_locked();
      visits_->hear_arrivals(arrivals);
    }
    worker_.time().hear(total - own + worker_.gradients());
  }
  gradients_.allow(granted, returned, is_last);
}

// The clock stands still from here until the count of the checkpoint or sample is known.
void AsyncProcess::promise_cut() {
  must_promise_ = !started_;
  if (must_promise_) return;
  MutexLock lock(worker_.mutex);
  worker_.time().freeze();
  progress_.testify(worker_);
  post_.send(0, mail_header(MailKind::promise, worker_.time().count()));
}

void AsyncProcess::stop_clock_at_next_mark() { worker_.time().stop_at(marks_.next().count); }

void AsyncProcess::lose(const Mail& mail) {
  if (async_coordinator_ != nullptr)
    if (const auto progress =
            collector_->lose(mail.from, async_coordinator_->progress_of(mail.from)))
      async_coordinator_->lose(mail, *progress);
  exchange_.lose(mail.from);
}

void AsyncProcess::act_on_marks() {
  if (!started_) return;
  {
    MutexLock lock(worker_.mutex);
    worker_.make_due();
  }
  while (place_mark()) {
  }
  exchange_.begin();
  tell_closed();
}

// Only after all exchanges that are due by then, so that the marks of all workers are one
// consistent cut.
bool AsyncProcess::place_mark() {
  MutexLock lock(worker_.mutex);
  const Marks::Next mark = marks_.next();
  if (mark.count > worker_.time().count() || !is_idle()) return false;
  worker_.make_due();
  const double t = worker_.time().time_of(mark.count);
  if (worker_.edges().any_by(t)) return false;
  worker_.mark(mark.kind, t);
  marks_.pass(mark.kind, t);
  stop_clock_at_next_mark();
  worker_.changed.notify_all();
  return true;
}

bool AsyncProcess::is_idle() {
  if (!exchange_.is_idle()) return false;
  if (!visits_) return true;
  visits_->assert_locked();
  return visits_->is_idle();
}

void AsyncProcess::tell_closed() {
  if (!must_close_ || told_closed_ || !gradients_.is_over()) return;
  MutexLock lock(worker_.mutex);
  progress_.testify(worker_);
  post_.send(0, mail_header(MailKind::stopped_committing, worker_.gradients(),
                            worker_.edges().waiting(), worker_.diverged(), worker_.time().known()));
  told_closed_ = true;
}

void AsyncProcess::release() {
  gradients_.close();
  if (visits_) visits_->give_up();
}

}  // namespace acid

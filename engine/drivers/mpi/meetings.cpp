#include "engine/drivers/mpi/meetings.hpp"

#include <algorithm>
#include <cmath>

#include "engine/base/error.hpp"
#include "engine/drivers/mpi/process.hpp"

namespace acid {
namespace {

// Reports oftener than this would cost more than the clocks gain by it.
constexpr double kReportSeconds = 0.5e-3;
// How often one asks whether a swap between devices is over: nothing wakes for it.
constexpr double kSwapSeconds = 0.1e-3;

const Backend& offer_memory(const RunSpec& spec, const MpiOptions& options) {
  return options.link == nullptr ? spec.backend->messages() : *spec.backend;
}

}  // namespace

MpiAsync::MpiAsync(const Run& run, const MpiOptions& options, Post& post, Coordinator* coordinator,
                   Collector* collector)
    : run_(run),
      spec_(run.spec),
      options_(options),
      post_(post),
      coordinator_(coordinator),
      collector_(collector),
      rank_(post.rank()),
      backlog_limit_(run.spec.backlog_limit(rank_)),
      settings_(worker_settings(run.spec, run.objective)),
      memory_(settings_, 1,
              run.spec.backend->is_host_memory() ? post.open_window(Worker::shared_size(settings_))
                                                 : std::span<float>{}),
      worker_(settings_, memory_),
      reporter_(run.spec, post),
      time_(run.spec.workers),
      schedule_(*run.spec.topology, run.spec.method.rate, run.spec.seeds),
      gone_(static_cast<std::size_t>(run.spec.workers)),
      sample_times_(run.spec, run.objective, nobody_, {}),
      start_(post, worker_, [this](Start& start) { started(start); }),
      own_offer_(settings_.dimension, offer_memory(run.spec, options)),
      partner_offer_(settings_.dimension, offer_memory(run.spec, options)) {
  std::vector<float> x0(settings_.dimension), buffers(settings_.buffer_size);
  run.objective.start(rank_, x0, buffers);
  worker_.start(x0, buffers);
}

// The offers' memory must outlive what the device does with it.
MpiAsync::~MpiAsync() {
  if (swapping_) options_.link->abort();
}

void MpiAsync::communicate() {
  std::stop_callback wake_up(run_.stop, [this] { post_.wake(); });
  double patience = 0;
  while (!over_ && !abandoned_.load()) {
    post_.pump(patience, [this](const Mail& mail) { deliver(mail); });
    finish_swap();
    act();
    if (run_.stop.stop_requested() && !told_stop_) {
      post_.send(0, mail_header(MailKind::stop, true));
      told_stop_ = true;
    }
    tell_progress();
    patience = seconds_to_next_report();
    if (swapping_) patience = std::min(patience, kSwapSeconds);
    if (coordinator_ != nullptr) patience = std::min(patience, coordinator_->spread());
  }
  post_.let_go();
  abandon();
}

void MpiAsync::deliver(const Mail& mail) {
  if (!mail.lost.empty()) return lose(mail);
  switch (MailReader(mail).kind()) {
    case MailKind::start:
    case MailKind::start_notes:
    case MailKind::start_vector:
      return start_.deliver(mail);
    case MailKind::clock:
    case MailKind::ask_cut:
    case MailKind::cut:
    case MailKind::stop_committing:
    case MailKind::end:
    case MailKind::shut_down:
      return news(mail);
    case MailKind::ready: {
      MailReader reader(mail);
      std::uint64_t number = 0;
      std::int64_t known = 0;
      reader(number, known);
      ready_partners_.insert(number);
      MutexLock lock(mutex_);
      return time_.hear(known);
    }
    case MailKind::go:
      return go(mail);
    case MailKind::answer:
      return answer(mail);
    case MailKind::offer:
      return fetch_offer(mail);
    case MailKind::lent:
      return exchange(mail);
    case MailKind::returned:
      return take_back(mail);
    default:
      return deliver_to_rank_zero(mail, coordinator_, collector_);
  }
}

// The first sample is of the start itself, so it is placed before anything can happen.
void MpiAsync::started(Start& start) {
  ArchiveReader more(start.more);
  std::int64_t known = 0, count = 0;
  std::vector<std::int64_t> granted;
  double seconds = 0;
  more(known, count, granted, seconds, sample_times_);
  {
    MutexLock lock(mutex_);
    started_seconds_ = run_.clock.seconds() - seconds;
    if (start.resumed) {
      report_ = std::move(start.report);
      reporter_.log().resume_at(rank_, report_.events);
      committed_ = worker_.gradients();
      time_.restore(count, known);
      const double t = time_.time_of(count);
      while (schedule_.peek().due <= t) schedule_.pop();
    }
    allowed_ = granted[static_cast<std::size_t>(rank_)];
    told_committed_ = committed_;
    time_.stop_at(next_mark().count);
    started_ = true;
  }
  while (place_mark()) {
  }
  MutexLock lock(mutex_);
  begun_ = true;
  changed_.notify_all();
}

void MpiAsync::news(const Mail& mail) {
  MailReader reader(mail);
  MutexLock lock(mutex_);
  switch (reader.kind()) {
    case MailKind::clock: {
      std::int64_t total = 0, own = 0, granted = 0;
      reader(total, own, granted);
      time_.hear(total - own + committed_);
      allowed_ = std::max(allowed_, granted);
      break;
    }
    case MailKind::ask_cut:
      time_.freeze();
      testify();
      post_.send(0, mail_header(MailKind::promise, time_.count()));
      break;
    case MailKind::cut:
      reader(cut_);
      time_.stop_at(next_mark().count);
      time_.thaw();
      break;
    case MailKind::stop_committing:
      must_close_ = closing_ = true;
      break;
    case MailKind::end:
      reader(end_, save_at_end_);
      time_.hear(end_);
      time_.stop_at(next_mark().count);
      break;
    default:
      over_ = true;
  }
  changed_.notify_all();
}

void MpiAsync::act() {
  if (!started_) return;
  {
    MutexLock lock(mutex_);
    make_due();
  }
  while (place_mark()) {
  }
  start_exchange();
  tell_closed();
}

void MpiAsync::tell_closed() {
  MutexLock lock(mutex_);
  if (!must_close_ || !training_over_ || told_closed_) return;
  testify();
  const auto waiting = static_cast<std::int64_t>(edges_.size()) - (in_flight_ ? 1 : 0);
  post_.send(
      0, mail_header(MailKind::stopped_committing, committed_, waiting, diverged_, time_.known()));
  told_closed_ = true;
}

void MpiAsync::make_due() {
  const double t = time_.time_of(time_.known());
  while (schedule_.peek().due <= t) {
    const DueEdge edge = schedule_.pop();
    if (edge.i == rank_ || edge.j == rank_) queue(edge);
  }
}

// A sample at the very end is the final one.
MpiAsync::Mark MpiAsync::next_mark() const {
  Mark next;
  const double sample = std::ceil(sample_times_.sample_times().next() * spec_.workers - 1e-9);
  const auto most = static_cast<double>(std::min(spec_.budget.gradients - 1, end_));
  if (sample <= most) next = {static_cast<std::int64_t>(sample), MarkKind::measured};
  if (cut_ < next.count) next = {cut_, MarkKind::checkpoint};
  if (end_ < next.count && !marked_end_)
    next = {end_, save_at_end_ ? MarkKind::last_checkpoint : MarkKind::end};
  return next;
}

// Only once all exchanges that are due by then are over: so the marks of all workers are one
// consistent cut.
bool MpiAsync::place_mark() {
  MutexLock lock(mutex_);
  const Mark mark = next_mark();
  if (mark.count > time_.count() || stage_ != Stage::none) return false;
  make_due();
  const double t = time_.time_of(mark.count);
  if (!edges_.empty() && edges_.front().due <= t) return false;
  if (mark.kind == MarkKind::end) {
    report_.spans = timeline_.take().front();
    report_.left_out = left_out_.list();
  }
  reporter_.mark(mark.kind, t, worker_, report_);
  if (mark.kind == MarkKind::measured) {
    report_.notes.clear();
    sample_times_.pass({.gradients = 0, .normalised_time = t, .seconds = 0, .bytes = 0}, 0);
  } else if (mark.kind == MarkKind::checkpoint) {
    cut_ = WorkerClock::kFree;
  } else {
    marked_end_ = true;
  }
  time_.stop_at(next_mark().count);
  return true;
}

void MpiAsync::tell_progress() {
  MutexLock lock(mutex_);
  untold_ = committed_ > told_committed_ || diverged_ != told_diverged_;
  if (untold_ && run_.clock.seconds() >= told_seconds_ + kReportSeconds) send_progress();
}

// What rank 0 knows of a worker's gradients may never be more than what it has of the events.
void MpiAsync::send_progress() {
  if (options_.goes_on) {
    reporter_.log().flush();
    post_.send_submitted();
  }
  post_.send(0, mail_header(MailKind::progress, committed_, report_.exchanges, diverged_));
  told_committed_ = committed_;
  told_diverged_ = diverged_;
  told_seconds_ = run_.clock.seconds();
  untold_ = false;
}

double MpiAsync::seconds_to_next_report() const {
  return untold_ ? std::max(0.0, told_seconds_ + kReportSeconds - run_.clock.seconds())
                 : kIdleSeconds;
}

}  // namespace acid

#include "engine/drivers/mpi_async.hpp"

#include <algorithm>
#include <cmath>

#include "engine/base/error.hpp"
#include "engine/drivers/mpi_process.hpp"

namespace acid {
namespace {

// Reports oftener than this would cost more than the clocks gain by it.
constexpr double kReportSeconds = 0.5e-3;

}  // namespace

MpiAsync::MpiAsync(const RunSpec& spec, const MpiOptions& options, Objective& objective, Post& post,
                   const Clock& clock, Lead* lead, Collector* collector)
    : spec_(spec),
      options_(options),
      objective_(objective),
      post_(post),
      clock_(clock),
      lead_(lead),
      collector_(collector),
      rank_(post.rank()),
      backlog_limit_(spec.backlog_limit(rank_)),
      settings_(worker_settings(spec, objective)),
      worker_(settings_, post.open_window(Worker::shared_size(settings_))),
      gradient_(settings_.dimension),
      reporter_(spec, post),
      time_(spec.workers),
      schedule_(*spec.topology, spec.method.rate, spec.seeds),
      calendar_(spec, objective, nobody_, {}),
      start_(post, worker_, [this](Start& start) { started(start); }),
      own_offer_(settings_.dimension),
      partner_offer_(settings_.dimension) {
  std::vector<float> x0(settings_.dimension), buffers(settings_.buffer_size);
  objective.start(rank_, x0, buffers);
  worker_.start(x0, buffers);
}

void MpiAsync::converse(std::stop_token stop) {
  std::stop_callback wake_up(stop, [this] { post_.wake(); });
  double patience = 0;
  while (!over_ && !abandoned_.load()) {
    post_.pump(patience, [this](const Mail& mail) { deliver(mail); });
    act();
    if (stop.stop_requested() && !told_stop_) {
      post_.send(0, mail_header(MailKind::stop, true));
      told_stop_ = true;
    }
    tell_progress();
    patience = seconds_to_next_report();
    if (lead_ != nullptr) patience = std::min(patience, lead_->spread());
  }
  post_.let_go();
  abandon();
}

void MpiAsync::deliver(const Mail& mail) {
  switch (MailReader(mail).kind()) {
    case MailKind::start:
    case MailKind::start_notes:
    case MailKind::start_vector:
      return start_.deliver(mail);
    case MailKind::clock:
    case MailKind::ask_cut:
    case MailKind::cut:
    case MailKind::close:
    case MailKind::end:
    case MailKind::farewell:
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
      return deliver_to_rank_zero(mail, lead_, collector_);
  }
}

// The first sample is of the start itself, so it is placed before anything can happen.
void MpiAsync::started(Start& start) {
  ArchiveReader more(start.more);
  std::int64_t known = 0, count = 0;
  std::vector<std::int64_t> granted;
  double seconds = 0;
  more(known, count, granted, seconds, calendar_);
  {
    MutexLock lock(mutex_);
    started_seconds_ = clock_.seconds() - seconds;
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
      post_.send(0, mail_header(MailKind::promise, time_.count()));
      break;
    case MailKind::cut:
      reader(cut_);
      time_.stop_at(next_mark().count);
      time_.thaw();
      break;
    case MailKind::close:
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
  if (!must_close_ || !quiet_ || told_closed_) return;
  const auto waiting = static_cast<std::int64_t>(edges_.size()) - (in_hand_ ? 1 : 0);
  post_.send(0, mail_header(MailKind::closed, committed_, waiting, diverged_));
  told_closed_ = true;
}

void MpiAsync::make_due() {
  const double t = time_.time_of(time_.known());
  while (schedule_.peek().due <= t) {
    const DueEdge edge = schedule_.pop();
    if (edge.i == rank_ || edge.j == rank_) edges_.push_back(edge);
  }
}

bool MpiAsync::starts_exchange() {
  return stage_ == Stage::none && !leaving_ && !edges_.empty() &&
         edges_.front().due <= time_.time();
}

void MpiAsync::start_exchange() {
  MutexLock lock(mutex_);
  if (!starts_exchange()) return;
  edge_ = edges_.front();
  exchange_began_ = clock_.seconds();
  if (!leads()) {
    post_.send(partner(), mail_header(MailKind::ready, edge_.number, time_.known()));
    stage_ = Stage::ready;
  } else if (ready_partners_.erase(edge_.number) > 0) {
    time_.freeze();
    const bool reaches = !partners_memory().empty();
    post_.send(partner(), mail_header(MailKind::go, edge_.number, time_.count(), reaches));
    stage_ = Stage::gone;
  }
}

// Who leads has more to do: the partners take turns.
bool MpiAsync::leads() const { return (edge_.number % 2 == 0 ? edge_.i : edge_.j) == rank_; }

std::span<float> MpiAsync::partners_memory() {
  return post_.window(partner(), Worker::shared_size(settings_));
}

int MpiAsync::partner() const { return edge_.i == rank_ ? edge_.j : edge_.i; }

void MpiAsync::expect(Stage stage, std::uint64_t number, const Mail& mail) const {
  ACID_ASSERT(stage_ == stage && edge_.number == number && partner() == mail.from,
              "rank {} speaks of exchange {}, and rank {} is at {} with {}", mail.from, number,
              rank_, edge_.number, partner());
}

void MpiAsync::go(const Mail& mail) {
  MailReader reader(mail);
  std::uint64_t number = 0;
  std::int64_t count = 0;
  bool reaches = false;
  reader(number, count, reaches);
  expect(Stage::ready, number, mail);
  if (reaches) return lend(count);
  {
    MutexLock lock(mutex_);
    time_.hear(count);
    offer(std::max(count, time_.count()));
  }
  send_offer(MailKind::answer);
}

void MpiAsync::answer(const Mail& mail) {
  MailReader reader(mail);
  std::uint64_t number = 0;
  std::int64_t count = 0;
  reader(number, count);
  expect(Stage::gone, number, mail);
  {
    MutexLock lock(mutex_);
    time_.hear(count);
    offer(count);
    time_.thaw();
  }
  send_offer(MailKind::offer);
  fetch_offer(mail);
}

// The gradient thread goes on, but its commits wait.
void MpiAsync::lend(std::int64_t count) {
  MutexLock lock(mutex_);
  time_.hear(count);
  time_.lift(count);
  offered_ = time_.count();
  const float c = worker_.lend(time_.time()).c;
  lent_ = in_hand_ = true;
  stage_ = Stage::lent;
  post_.send(partner(), mail_header(MailKind::lent, edge_.number, offered_, c));
}

void MpiAsync::exchange(const Mail& mail) {
  MailReader reader(mail);
  std::uint64_t number = 0;
  float c = 0;
  {
    MutexLock lock(mutex_);
    reader(number, offered_, c);
    expect(Stage::gone, number, mail);
    time_.hear(offered_);
    time_.lift(offered_);
    Worker::exchange(settings_, worker_.lend(time_.time()),
                     Worker::lent(settings_, partners_memory(), c));
    log(EventKind::exchange, edge_.number);
    exchanged();
    time_.thaw();
  }
  post_.send(mail.from, mail_header(MailKind::returned, number));
}

void MpiAsync::take_back(const Mail& mail) {
  MailReader reader(mail);
  std::uint64_t number = 0;
  reader(number);
  expect(Stage::lent, number, mail);
  MutexLock lock(mutex_);
  reporter_.log().add(rank_, EventKind::exchange, time_.time_of(offered_), worker_, edge_.number);
  lent_ = false;
  exchanged();
}

void MpiAsync::exchanged() {
  ++report_.exchanges;
  end_span(SpanKind::exchange, exchange_began_);
  edges_.pop_front();
  in_hand_ = false;
  stage_ = Stage::none;
  changed_.notify_all();
}

void MpiAsync::offer(std::int64_t count) {
  time_.lift(count);
  offered_ = count;
  worker_.offer(time_.time(), own_offer_.span());
  log(EventKind::offer, edge_.number);
  in_hand_ = true;
  stage_ = Stage::in_hand;
}

void MpiAsync::send_offer(MailKind kind) {
  leaving_ = true;
  post_.send(partner(), mail_header(kind, edge_.number, offered_), own_offer_.span(),
             [this] { leaving_ = false; });
}

void MpiAsync::fetch_offer(const Mail& mail) {
  MailReader reader(mail);
  std::uint64_t number = 0;
  reader(number);
  expect(Stage::in_hand, number, mail);
  post_.fetch(mail, partner_offer_.span(), [this] { apply(); });
}

void MpiAsync::apply() {
  MutexLock lock(mutex_);
  worker_.apply(time_.time(), time_.time_of(offered_), own_offer_.span(), partner_offer_.span());
  log(EventKind::apply, edge_.number);
  exchanged();
}

// A sample at the very end is the final one.
MpiAsync::Mark MpiAsync::next_mark() const {
  Mark next;
  const double sample = std::ceil(calendar_.next() * spec_.workers - 1e-9);
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
  if (mark.kind == MarkKind::end) report_.spans = timeline_.take().front();
  reporter_.mark(mark.kind, t, worker_, report_);
  if (mark.kind == MarkKind::measured) {
    report_.notes.clear();
    calendar_.pass({.gradients = 0, .normalised_time = t, .seconds = 0, .bytes = 0});
  } else if (mark.kind == MarkKind::checkpoint) {
    cut_ = WorkerClock::kFree;
  } else {
    marked_end_ = true;
  }
  time_.stop_at(next_mark().count);
  return true;
}

void MpiAsync::tell_progress() {
  std::int64_t committed = 0, exchanges = 0;
  bool diverged = false;
  {
    MutexLock lock(mutex_);
    committed = committed_;
    exchanges = report_.exchanges;
    diverged = diverged_;
  }
  untold_ = committed > told_committed_ || diverged != told_diverged_;
  const double now = clock_.seconds();
  if (!untold_ || now < told_seconds_ + kReportSeconds) return;
  post_.send(0, mail_header(MailKind::progress, committed, exchanges, diverged));
  told_committed_ = committed;
  told_diverged_ = diverged;
  told_seconds_ = now;
  untold_ = false;
}

double MpiAsync::seconds_to_next_report() const {
  return untold_ ? std::max(0.0, told_seconds_ + kReportSeconds - clock_.seconds()) : kIdleSeconds;
}

}  // namespace acid

#include "engine/drivers/mpi/async_coordinator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "engine/base/error.hpp"

namespace acid {
namespace {

// More frequent news would cost more than the clocks gain.
constexpr double kSpreadSeconds = 0.5e-3;

}  // namespace

AsyncCoordinator::AsyncCoordinator(const Run& run, Post& post, const Ensemble& ensemble,
                                   std::function<bool()> overloaded)
    : run_(run),
      spec_(run.spec),
      post_(post),
      ensemble_(ensemble),
      overloaded_(std::move(overloaded)),
      workers_(static_cast<std::size_t>(run.spec.workers)),
      endpoints_by_server_(static_cast<std::size_t>(run.spec.method.servers(run.spec.workers))) {}

void AsyncCoordinator::begin(const std::vector<WorkerProgress>& all_progress, std::int64_t cut,
                             double started_seconds) {
  started_seconds_ = started_seconds;
  last_gradient_seconds_.store(run_.clock.seconds());
  cut_ = cut;
  std::vector<std::int64_t> committed;
  for (int w = 0; w < spec_.workers; ++w) {
    const WorkerProgress& progress = all_progress[static_cast<std::size_t>(w)];
    note_progress(w, progress);
    committed.push_back(progress.gradients);
  }
  for (Own& one : workers_) one.last_sent_total = gradients_.load();
  permits_.emplace(spec_.budget.gradients, committed, run_.clock.seconds());
}

// Both workers of an exchange count it; a worker counts an exchange with a server twice.
void AsyncCoordinator::note_progress(int worker, const WorkerProgress& progress) {
  WorkerProgress& known = own(worker).progress;
  if (progress.gradients > known.gradients) last_gradient_seconds_.store(run_.clock.seconds());
  gradients_.fetch_add(progress.gradients - known.gradients);
  extra_bytes_.fetch_add(progress.extra_bytes - known.extra_bytes);
  endpoints_by_server_[server_of(worker)] += progress.exchanges - known.exchanges;
  exchanges_.store(
      std::accumulate(endpoints_by_server_.begin(), endpoints_by_server_.end(), std::int64_t{0}) /
      2);
  known = progress;
}

std::int64_t AsyncCoordinator::first_grant(int worker) {
  return own(worker).last_sent_grant =
             permits_->grant(worker, own(worker).progress.gradients, run_.clock.seconds());
}

std::int64_t AsyncCoordinator::grant(int worker, double now) {
  if (overloaded_() || own(worker).held) return own(worker).last_sent_grant;
  return permits_->grant(worker, own(worker).progress.gradients, now);
}

Position AsyncCoordinator::position() const {
  const std::int64_t gradients = gradients_.load();
  Position here = spec_.after_exchanges(gradients, run_.clock.seconds() - started_seconds_,
                                        exchanges_.load(), run_.objective.dimension());
  here.bytes += extra_bytes_.load() + ensemble_.bytes_of_visits();
  return here;
}

void AsyncCoordinator::deliver(const Mail& mail) {
  MailReader reader(mail);
  switch (reader.kind()) {
    case MailKind::progress:
      return hear_progress(mail.from, reader);
    case MailKind::promise:
      return promise(mail.from, std::get<0>(reader.values<std::int64_t>()));
    case MailKind::stopped_committing:
      return closed(mail.from, reader);
    case MailKind::held: {
      // Others commit the gradients that a held worker gives back.
      Own& one = own(mail.from);
      const auto [held, committed] = reader.values<bool, std::int64_t>();
      one.held = held;
      if (!one.held) return;
      ++one.returned;
      permits_->take_back(mail.from, committed);
      one.last_sent_grant = committed;
      return;
    }
    case MailKind::stop:
      return end(std::get<0>(reader.values<bool>()));
    case MailKind::cut_wanted:
      reader(request_.is_sample);
      return ask_cut();
    default:
      ACID_ASSERT(false, "rank 0 has no use for a message of kind {}",
                  static_cast<int>(reader.kind()));
  }
}

void AsyncCoordinator::hear_progress(int from, MailReader& reader) {
  WorkerProgress progress;
  bool diverged = false;
  reader(progress.gradients, progress.exchanges, progress.extra_bytes, diverged);
  note_progress(from, progress);
  run_.recorder.progress(position());
  if (diverged) diverged_.store(true);
  if (diverged || gradients_.load() >= spec_.budget.gradients) end(false);
}

// Nothing is expected of a lost worker; without its state a checkpoint is not saved.
void AsyncCoordinator::ask_cut() {
  if (request_.promises_missing > 0 || ending_.load()) return;
  request_.promises_missing = spec_.workers - lost();
  for (Own& one : workers_) one.promised = one.lost;
  post_.send_to_all(mail_header(MailKind::ask_cut));
}

// A worker that has promised stops its clock until it hears of the cut, so no worker can be past
// the latest clock.
void AsyncCoordinator::promise(int from, std::int64_t count) {
  own(from).promised = true;
  request_.highest_promise = std::max(request_.highest_promise, count);
  if (--request_.promises_missing > 0) return;
  if (!request_.is_sample) cut_ = request_.highest_promise;
  post_.send_to_all(mail_header(MailKind::cut, request_.highest_promise, request_.is_sample));
}

void AsyncCoordinator::end(bool by_person) {
  if (ending_.load()) return;
  ending_.store(true);
  was_stopped_.store(by_person && !diverged_.load() && gradients_.load() < spec_.budget.gradients);
  not_closed_ = spec_.workers - lost();
  post_.send_to_all(mail_header(MailKind::stop_committing));
}

// Once no worker commits any more, the number of gradients is exact and the same for all.
void AsyncCoordinator::closed(int from, MailReader& reader) {
  const auto [committed, waiting, diverged, known] =
      reader.values<std::int64_t, std::int64_t, bool, std::int64_t>();
  if (diverged) diverged_.store(true);
  WorkerProgress last = own(from).progress;
  last.gradients = committed;
  note_progress(from, last);
  own(from).closed = true;
  waiting_.fetch_add(waiting);
  highest_known_ = std::max(highest_known_, known);
  if (--not_closed_ == 0) all_closed();
}

void AsyncCoordinator::all_closed() {
  // Others may know of more gradients if the last messages of a lost process did not arrive here.
  gradients_.store(std::max(gradients_.load(), highest_known_));
  waiting_.store(waiting_.load() / 2);  // each edge waits at both its workers
  const std::int64_t gradients = gradients_.load();
  const bool stopped = was_stopped_.load() && !diverged_.load();
  was_stopped_.store(stopped);
  const bool save = stopped && cut_ != gradients;
  post_.send_to_all(mail_header(MailKind::end, gradients, save));
}

// Sends news after a quarter of a unit of time, or at once to a worker that waits, and gives out
// gradients before the last ones are used up. At the end, only if a worker may wait for a server,
// which hears no message beyond a mark that other workers, maybe closed, have not reached.
double AsyncCoordinator::act() {
  const bool ends = ending_.load();
  if (!permits_ || (ends && (!spec_.method.has_server() || not_closed_ == 0))) return kIdleSeconds;
  const double now = run_.clock.seconds();
  const double wait = spread_seconds_ + kSpreadSeconds - now;
  if (wait > 0) return wait;
  bool told = false;
  for (int w = 0; w < spec_.workers; ++w) {
    const Own& one = own(w);
    if (one.lost) continue;
    const std::int64_t granted = ends ? one.last_sent_grant : grant(w, now);
    const std::int64_t news = gradients_.load() - one.last_sent_total;
    const bool waits = one.last_sent_grant <= one.progress.gradients;
    const bool wants_more =
        granted > one.last_sent_grant &&
        2 * (one.last_sent_grant - one.progress.gradients) <= granted - one.progress.gradients;
    const bool is_due = 4 * news >= spec_.workers || (waits && news > 0) || wants_more ||
                        one.knows_last != permits_->is_empty();
    if (ends ? news == 0 : !is_due) continue;
    tell(w, granted);
    told = true;
  }
  if (told) spread_seconds_ = now;
  return told ? kSpreadSeconds : kIdleSeconds;
}

void AsyncCoordinator::tell(int worker, std::int64_t granted) {
  Own& one = own(worker);
  one.last_sent_total = gradients_.load();
  one.last_sent_grant = granted;
  one.knows_last = permits_->is_empty();
  // The messages that its server has heard, as far as known; unused where there is none.
  post_.send(worker, mail_header(MailKind::clock, one.last_sent_total, one.progress.gradients,
                                 granted, one.returned, one.knows_last,
                                 endpoints_by_server_[server_of(worker)] / 2));
}

WorkerProgress AsyncCoordinator::progress_of(int worker) const {
  const Own& one = workers_[static_cast<std::size_t>(worker)];
  return one.progress;
}

void AsyncCoordinator::lose(const Mail& mail, const WorkerProgress& progress) {
  Own& one = own(mail.from);
  one.lost = true;
  lost_.fetch_add(1);
  note_progress(mail.from, progress);
  permits_->take_back(mail.from, progress.gradients);
  note_loss(mail, progress);
  // Nothing is expected of the lost worker any more.
  if (request_.promises_missing > 0 && !one.promised) promise(mail.from, 0);
  if (!ending_.load()) {
    if (gradients_.load() >= spec_.budget.gradients) end(false);
  } else if (not_closed_ > 0 && !one.closed && --not_closed_ == 0) {
    all_closed();
  }
}

void AsyncCoordinator::note_loss(const Mail& mail, const WorkerProgress& progress) {
  run_.recorder.note(
      Severity::warning,
      fmt::format(
          "{} at normalised time {:.6g}; the run goes on with {} of {} workers and takes no "
          "more checkpoints; the {} gradients that the lost worker had committed count, "
          "what it had not exchanged is lost",
          LostProcess(post_.place(mail.from), mail.lost).what(), position().normalised_time,
          spec_.workers - lost(), spec_.workers, progress.gradients));
}

}  // namespace acid

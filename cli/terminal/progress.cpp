#include "cli/terminal/progress.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cli/terminal/run_json.hpp"
#include "cli/terminal/session.hpp"
#include "reports/numbers.hpp"
#include "reports/text_table.hpp"

namespace acid {
namespace {

constexpr double kSecondsBetweenLines = 5;
constexpr double kQuietSeconds = 1, kSecondsBetweenDrawings = 0.1;  // of ReadingProgress
constexpr std::size_t kProgressColumns = 20;

}  // namespace

std::string bar(double fraction, std::size_t columns) {
  const auto full = static_cast<std::size_t>(fraction * static_cast<double>(columns));
  return fmt::format("[{:#<{}}{:-<{}}]", "", full, "", columns - full);
}

double work_of(const RunSummary& run) {
  return run.budget_time ? run.workers * *run.budget_time
                         : static_cast<double>(run.budget_gradients);
}

double work_done(const RunSummary& run, const Position& there) {
  return run.budget_time ? run.workers * there.normalised_time
                         : static_cast<double>(there.gradients);
}

double fraction_done(const RunSummary& run) {
  if (work_of(run) <= 0) return 0;
  return std::min(1.0, work_done(run, run.progress) / work_of(run));
}

ReadingProgress::ReadingProgress(const Clock& clock, std::string verb, bool terminal)
    : clock_(clock),
      verb_(std::move(verb)),
      terminal_(terminal),
      next_seconds_(clock.seconds() + kQuietSeconds) {}

ReadingProgress::~ReadingProgress() {
  if (drawn_) say_raw("\r\x1b[K");
}

void ReadingProgress::show(std::size_t done, std::size_t runs) {
  const double now = clock_.seconds();
  if (done == runs || now < next_seconds_) return;
  next_seconds_ = now + (terminal_ ? kSecondsBetweenDrawings : kSecondsBetweenLines);
  const std::string line = fmt::format("{} of {} runs {}", done, runs, verb_);
  if (terminal_)
    say_raw("\r" + line + "\x1b[K");
  else
    say(line);
  drawn_ = terminal_;
}

Progress::Progress(const Clock& clock, std::size_t runs, double work, bool terminal)
    : clock_(clock),
      runs_(runs),
      total_work_(work),
      terminal_(terminal),
      begun_(clock.seconds()),
      last_line_(begun_) {}

void Progress::run_ended(const RunSummary& run) {
  ++ended_;
  ended_work_ += work_of(run);
  first_seen_.erase(run.id);
}

double Progress::gradients_per_second(const RunSummary& run) {
  const double now = clock_.seconds();
  if (run.progress.gradients == 0) return 0;
  const Seen& first =
      first_seen_.try_emplace(run.id, Seen{now, run.progress.gradients}).first->second;
  const double elapsed = now - first.at_seconds;
  return elapsed > 0 ? static_cast<double>(run.progress.gradients - first.gradients) / elapsed : 0;
}

std::string Progress::line(const std::vector<RunSummary>& running) {
  double done = ended_work_;
  std::string current;
  for (const RunSummary& run : running) {
    // Until the worker has begun its attempt, the store shows how far the one before came.
    if (run.state != RunState::running) continue;
    done += fraction_done(run) * work_of(run);
    current += fmt::format(", {} seed {} at {:.0f} %", shown_name(run.algorithm, run.label),
                           run.seed, 100 * fraction_done(run));
    if (const double rate = gradients_per_second(run); rate > 0)
      current += fmt::format(" ({} gradients/s)", format_number(rate, 3));
  }
  const double fraction = total_work_ > 0 ? std::min(1.0, done / total_work_) : 0;
  const double elapsed = clock_.seconds() - begun_;
  const double computed = done - given_work_;
  const double to_do = std::max(0.0, total_work_ - done);
  std::string left;
  if (computed > 0.01 * (computed + to_do) && elapsed > 2)
    left = fmt::format(", about {} left", format_seconds(elapsed * to_do / computed));
  return fmt::format("{}{} of {} runs done{}{}{}",
                     terminal_ ? bar(fraction, kProgressColumns) + " " : "", ended_, runs_,
                     failed_ > 0 ? fmt::format(", {} of them failed", failed_) : "", left, current);
}

void Progress::show(const std::vector<RunSummary>& running) {
  if (terminal_) {
    say_raw(fmt::format("\r{}\x1b[K",
                        shortened(seen_on_terminal(line(running)), terminal_width() - 1)));
    drawn_ = true;
  } else if (clock_.seconds() - last_line_ >= kSecondsBetweenLines) {
    last_line_ = clock_.seconds();
    say(line(running));
  }
}

void Progress::say_above(const std::string& message) {
  clear();
  say(message);
}

void Progress::clear() {
  if (drawn_) say_raw("\r\x1b[K");
  drawn_ = false;
}

}  // namespace acid

#include "cli/terminal/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "cli/terminal/run_json.hpp"
#include "cli/terminal/session.hpp"
#include "reports/numbers.hpp"
#include "reports/text_table.hpp"

namespace acid {
namespace {

constexpr double kSecondsBetweenLines = 5;
constexpr double kQuietSeconds = 1, kSecondsBetweenDrawings = 0.1;  // ReadingProgress
constexpr std::size_t kProgressColumns = 10;
// An estimate of the time left is withheld until this much is known, and it changes slowly.
constexpr double kSecondsBeforeEstimate = 5, kShareBeforeEstimate = 0.03, kSecondsOfNews = 10;
constexpr double kSecondsBeforePace = 1;

}  // namespace

std::string bar(double fraction, std::size_t columns) {
  const auto full = static_cast<std::size_t>(fraction * static_cast<double>(columns));
  return fmt::format("[{:#<{}}{:-<{}}]", "", full, "", columns - full);
}

std::string rough_seconds(double seconds) {
  const double unit = seconds < 60 ? 5 : seconds < 600 ? 30 : seconds < 7200 ? 300 : 1800;
  return format_seconds(unit * std::max(1.0, std::ceil(seconds / unit)));
}

std::string time_left(double seconds) {
  constexpr double kWorthSaying = 3;
  return seconds < kWorthSaying ? "" : fmt::format(", about {} left", rough_seconds(seconds));
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

ReadingProgress::ReadingProgress(std::string verb)
    : verb_(std::move(verb)),
      terminal_(standard_error_is_terminal()),
      next_seconds_(clock_.seconds() + kQuietSeconds) {}

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

Progress::Progress(const Clock& clock, std::size_t runs, double work,
                   std::map<std::string, SettingName> settings, bool terminal)
    : clock_(clock),
      runs_(runs),
      total_work_(work),
      settings_(std::move(settings)),
      terminal_(terminal),
      begun_(clock.seconds()),
      last_line_(begun_) {}

void Progress::run_ended(const RunSummary& run) {
  ++ended_;
  ended_work_ += work_of(run);
  first_seen_.erase(run.id);
}

double Progress::pace(const RunSummary& run) {
  const double now = clock_.seconds(), done = work_done(run, run.progress);
  if (done <= 0) return 0;
  const Seen& first = first_seen_.try_emplace(run.id, Seen{now, done}).first->second;
  const double elapsed = now - first.at_seconds;
  return elapsed > kSecondsBeforePace ? (done - first.work) / elapsed : 0;
}

std::string Progress::left(const std::vector<RunSummary>& running) {
  double done = ended_work_, longest = 0;
  bool all_known = !running.empty();
  for (const RunSummary& run : running) {
    const double here = run.state == RunState::running ? work_done(run, run.progress) : 0;
    const double its_pace = run.state == RunState::running ? pace(run) : 0;
    done += std::min(here, work_of(run));
    all_known = all_known && its_pace > 0;
    if (its_pace > 0) longest = std::max(longest, (work_of(run) - here) / its_pace);
  }
  const double elapsed = clock_.seconds() - begun_;
  const double computed = done - given_work_, to_do = std::max(0.0, total_work_ - done);
  if (elapsed < kSecondsBeforeEstimate || computed < kShareBeforeEstimate * (computed + to_do))
    return {};
  // When all that is left is running, the runs' own pace decides; until it is known there is no
  // estimate.
  const bool last_ones = ended_ + running.size() == runs_;
  if (last_ones && !all_known) return {};
  const double seconds = last_ones ? longest : std::max(longest, elapsed * to_do / computed);
  const double now = clock_.seconds(), end = now + seconds;
  const double share = -std::expm1(-(now - estimated_) / kSecondsOfNews);
  end_ = !end_ || last_ones ? end : *end_ + share * (end - *end_);
  estimated_ = now;
  return time_left(std::max(*end_ - now, longest));
}

std::string Progress::describe(const RunSummary& run, Words words) {
  const auto found = settings_.find(run.id);
  const SettingName setting = found == settings_.end() ? SettingName() : found->second;
  const std::string& said = words == Words::values ? setting.values : setting.full;
  std::string text =
      fmt::format(", {}{} seed {} at {:.0f} %", shown_name(run.algorithm, run.label),
                  said.empty() ? "" : " (" + said + ")", run.seed, 100 * fraction_done(run));
  const double rate = run.budget_time || words != Words::with_pace ? 0 : pace(run);
  if (rate > 0) text += fmt::format(" ({} gradients/s)", format_number(rate, 3));
  return text;
}

std::string Progress::line(const std::vector<RunSummary>& running, int columns) {
  double done = ended_work_;
  std::vector<const RunSummary*> shown;
  for (const RunSummary& run : running) {
    // Until the worker has begun its attempt, the store shows the position of the attempt before.
    if (run.state != RunState::running) continue;
    done += fraction_done(run) * work_of(run);
    shown.push_back(&run);
  }
  const double fraction = total_work_ > 0 ? std::min(1.0, done / total_work_) : 0;
  const std::string head =
      fmt::format("{} of {} runs done{}{}", ended_ - failed_, runs_,
                  failed_ > 0 ? fmt::format(", {} failed", failed_) : "", left(running));
  const std::string drawn = terminal_ ? bar(fraction, kProgressColumns) + " " : "";
  for (std::size_t most = shown.size(); most > 0; --most)
    for (const std::string& before : {drawn, std::string()})
      for (const Words words : {Words::with_pace, Words::with_keys, Words::values}) {
        std::string text = before + head;
        for (std::size_t r = 0; r < most; ++r) text += describe(*shown[r], words);
        if (most < shown.size()) text += fmt::format(", {} more", shown.size() - most);
        text = seen_on_terminal(text);
        if (terminal_columns(text) <= columns) return text;
      }
  if (shown.empty()) return drawn + head;
  return seen_on_terminal(fmt::format("{}, {} running: {}", head, shown.size(),
                                      describe(*shown[0], Words::values).substr(2)));
}

void Progress::show(const std::vector<RunSummary>& running) {
  if (terminal_) {
    const int columns = screen_size(STDERR_FILENO).columns - 1;
    say_raw(fmt::format("\r{}\x1b[K", shortened(line(running, columns), columns)));
    drawn_ = true;
  } else if (clock_.seconds() - last_line_ >= kSecondsBetweenLines) {
    last_line_ = clock_.seconds();
    say(line(running, std::numeric_limits<int>::max()));
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

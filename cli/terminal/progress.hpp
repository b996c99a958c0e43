#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/clock.hpp"
#include "reports/run_names.hpp"
#include "store/queries.hpp"

namespace acid {

/// A run's work, in gradients: its budget, or for exchanges alone as many gradients as would be
/// computed in the same normalised time.
double work_of(const RunSummary& run);
/// How much of the work the run has done when it is at `there`.
double work_done(const RunSummary& run, const Position& there);
/// The share of the work that is done, 0 to 1.
double fraction_done(const RunSummary& run);
/// "[###---]", with as many columns between the brackets; fraction: 0 to 1.
std::string bar(double fraction, std::size_t columns);
/// Rounded as an estimate of the time left: "25 s", "2.5 min".
std::string rough_seconds(double seconds);
/// ", about 25 s left"; empty below a few seconds.
std::string time_left(double seconds);

/// How many runs a command that only reads has read, on standard error; nothing within the first
/// second. As with Progress, one line that is redrawn on a terminal, else a line now and then.
class ReadingProgress {
 public:
  /// `verb`: "read", as in "3 of 9 runs read".
  explicit ReadingProgress(std::string verb);
  ~ReadingProgress();
  ReadingProgress(const ReadingProgress&) = delete;
  ReadingProgress& operator=(const ReadingProgress&) = delete;

  void show(std::size_t done, std::size_t runs);

 private:
  const SteadyClock clock_;
  const std::string verb_;
  const bool terminal_;
  double next_seconds_;  // when the next message may be printed
  bool drawn_ = false;
};

/// The progress of a set of runs, on standard error: one line that is redrawn on a terminal, else a
/// line at most every five seconds.
class Progress {
 public:
  /// `work`: work_of() all runs that are to be executed. `settings`: setting_names() of them.
  Progress(const Clock& clock, std::size_t runs, double work,
           std::map<std::string, SettingName> settings, bool terminal);
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// The line, with the runs now under way, at most `columns` wide if possible: runs that do not
  /// fit are counted.
  std::string line(const std::vector<RunSummary>& running, int columns);
  /// Draws the line.
  void show(const std::vector<RunSummary>& running);
  /// A run is continued: this much of its work is done already.
  void begins_with(double work) { given_work_ += work; }
  void run_ended(const RunSummary& run);
  /// One of the ended runs has no result.
  void run_failed() { ++failed_; }
  /// Prints a message above the progress line.
  void say_above(const std::string& message);

 private:
  struct Seen {
    double at_seconds = 0;
    double work = 0;  // work_done()
  };
  enum class Words { with_pace, with_keys, values };  // from long to short
  /// Work per second since the run was first seen with work done; 0: not known yet.
  double pace(const RunSummary& run);
  /// ", about 3 min left"; empty while that would be a guess.
  std::string left(const std::vector<RunSummary>& running);
  std::string describe(const RunSummary& run, Words words);
  void clear();

  const Clock& clock_;
  const std::size_t runs_;
  const double total_work_;
  const std::map<std::string, SettingName> settings_;  // by run id
  const bool terminal_;
  const double begun_;
  double last_line_;
  bool drawn_ = false;
  std::size_t ended_ = 0;
  std::size_t failed_ = 0;
  double ended_work_ = 0;
  double given_work_ = 0;                   // not done by this command, so it took no time
  std::optional<double> end_;               // when all is expected to be done, smoothed
  double estimated_ = 0;                    // when that was estimated last
  std::map<std::string, Seen> first_seen_;  // run id → the first time it had committed anything
};

}  // namespace acid

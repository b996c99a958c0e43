#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/base/clock.hpp"
#include "store/queries.hpp"

namespace acid {

/// Of 0 to 1: of the budget's gradients.
double fraction_done(const RunSummary& run);
/// "[###---]", with as many columns between the brackets; fraction: 0 to 1.
std::string bar(double fraction, std::size_t columns);

/// How many runs a command that only reads is through with, on standard error; nothing within the
/// first second. As Progress, one line that is redrawn on a terminal, else one now and then.
class ReadingProgress {
 public:
  /// `verb`: "read", of "3 of 9 runs read".
  ReadingProgress(const Clock& clock, std::string verb, bool terminal);
  ~ReadingProgress();
  ReadingProgress(const ReadingProgress&) = delete;
  ReadingProgress& operator=(const ReadingProgress&) = delete;

  void show(std::size_t done, std::size_t runs);

 private:
  const Clock& clock_;
  const std::string verb_;
  const bool terminal_;
  double next_seconds_;  // when something may be said again
  bool drawn_ = false;
};

/// How far a set of runs is, on standard error: one line that is redrawn on a terminal, else a
/// line at most every five seconds.
class Progress {
 public:
  /// `gradients`: the budgets of all runs that are to be executed.
  Progress(const Clock& clock, std::size_t runs, std::int64_t gradients, bool terminal);
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Draws, with the runs now under way.
  void show(const std::vector<RunSummary>& running);
  /// A run continues: it has these gradients already.
  void begins_with(std::int64_t gradients) { given_gradients_ += static_cast<double>(gradients); }
  void run_ended(const RunSummary& run);
  /// Prints a message above the progress line.
  void say_above(const std::string& message);

 private:
  struct Seen {
    double at_seconds = 0;
    std::int64_t gradients = 0;
  };
  std::string line(const std::vector<RunSummary>& running);
  double gradients_per_second(const RunSummary& run);
  void clear();

  const Clock& clock_;
  const std::size_t runs_;
  const double total_gradients_;
  const bool terminal_;
  const double begun_;
  double last_line_;
  bool drawn_ = false;
  std::size_t ended_ = 0;
  double ended_gradients_ = 0;
  double given_gradients_ = 0;              // not computed here, so they took no time
  std::map<std::string, Seen> first_seen_;  // run id → the first time it had committed anything
};

}  // namespace acid

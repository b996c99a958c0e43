#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace acid::bench {

/// One side of a comparison in one round.
struct Sample {
  double value = 0;                                     // in the row's unit
  std::optional<double> cpu_seconds_per_gradient = {};  // of all threads together
};

/// With fewer rounds the median is no verdict.
inline constexpr int kRoundsOfAVerdict = 7;

/// The bound of a row: on its ratio, or on the measured value itself. The median of the rounds
/// counts.
struct Wanted {
  enum class Of { ratio, value };
  enum class Sense { at_least, at_most };
  Of of = Of::ratio;
  Sense sense = Sense::at_least;
  double bound = 0;
};
inline Wanted ratio_at_least(double bound) {
  return {Wanted::Of::ratio, Wanted::Sense::at_least, bound};
}
inline Wanted ratio_at_most(double bound) {
  return {Wanted::Of::ratio, Wanted::Sense::at_most, bound};
}
inline Wanted value_at_least(double bound) {
  return {Wanted::Of::value, Wanted::Sense::at_least, bound};
}
inline Wanted value_at_most(double bound) {
  return {Wanted::Of::value, Wanted::Sense::at_most, bound};
}

/// One line of the result: a measured value, and usually the same value of a peer, round by round.
/// The ratio of a round is measured ÷ peer of that round, so that a slow phase of the whole machine
/// cancels out.
struct Row {
  std::string what;
  std::string unit;                   // of measured and peers: "gradients/s"
  std::string peer = {};              // what it is compared with; empty: nothing
  std::optional<Wanted> wanted = {};  // absent: there is no bound
  std::vector<Sample> measured = {};  // by round
  std::vector<Sample> peers = {};     // by round; as many as measured, or none
  std::string command = {};           // set by Bench::add
};

struct Spread {
  double least = 0, median = 0, most = 0;
};
/// The spread of at least one value; the median of an even number is the mean of the middle two.
Spread spread_of(std::vector<double> values);

Spread measured_spread(const Row& row);
std::optional<Spread> peer_spread(const Row& row);
/// Absent without a peer.
std::optional<Spread> ratio_spread(const Row& row);
/// Median over the rounds; absent when a side computes no gradients.
std::optional<double> cpu_seconds_per_gradient(std::span<const Sample> samples);
/// Median over the rounds of measured ÷ peer, in CPU seconds per gradient: below 1 the peer costs
/// more. Absent unless both sides compute gradients.
std::optional<double> cpu_ratio(const Row& row);
/// Absent when there is no bound.
std::optional<bool> met(const Row& row);

/// Wall clock and processor time since construction or restart.
class Stopwatch {
 public:
  enum class Cpu {
    thread,   // of the calling thread
    process,  // of all threads of this process
  };
  explicit Stopwatch(Cpu cpu = Cpu::process);
  double seconds() const;
  double cpu_seconds() const;

 private:
  Cpu cpu_;
  double begun_, cpu_begun_;
};

struct Options {
  int rounds = kRoundsOfAVerdict;
  /// About how long one side runs in one round, for a command that runs for a time; absent: the
  /// command's own default.
  std::optional<double> seconds;
};

/// A command measures with it and reports to it. One thread.
class Bench {
 public:
  Bench(const Options& options, bool terminal);
  ~Bench();
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  int rounds() const { return options_.rounds; }
  /// How long one side of one round should take.
  double seconds(double fallback) const { return options_.seconds.value_or(fallback); }

  /// A measurement that can be repeated. Set-up belongs before it or inside it, but outside of the
  /// timed part.
  using Side = std::function<Sample()>;
  /// Measures every side once in every round, the rounds one after the other and every other round
  /// in reverse order, so that no side profits from its place. Returns the samples by side, then by
  /// round. Shows progress when it takes longer than a second. Throws Interrupted when asked to
  /// end, and passes on exceptions of a side.
  std::vector<std::vector<Sample>> interleave(const std::string& what,
                                              const std::vector<Side>& sides);
  /// A row of one measured side and one peer (none: an empty function).
  void compare(Row row, const Side& measured, const Side& peer = {});

  /// Rows and notes added from now on belong to this command.
  void begin(const std::string& command) { command_ = command; }
  /// Adds a finished row.
  void add(Row row);
  /// Adds a note beside the rows, such as why one is missing; a whole sentence.
  void note(const std::string& text);

  const std::vector<Row>& rows() const { return rows_; }

 private:
  void show_progress(const std::string& what, int round);
  void clear_progress();

  const Options options_;
  const bool terminal_;
  std::string command_;
  std::vector<Row> rows_;
  double next_progress_ = 0;
  bool drawn_ = false;
};

}  // namespace acid::bench

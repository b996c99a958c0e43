#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/mutex.hpp"
#include "engine/recorder/metrics.hpp"
#include "engine/run/cut.hpp"
#include "engine/run/run_spec.hpp"
#include "worker/recording.hpp"

namespace acid {

/// The first difference between an execution and the recording.
struct Departure {
  double time = 0;  // normalised
  std::string what = {};
  int worker = kWholeRun;
  std::optional<std::int64_t> event = {};  // its number among the worker's
  std::string tensor = {};                 // empty when unknown
};

/// Bit for bit, but for the sign of 0: SQLite keeps −0.0 as 0.0.
bool same_value(double a, double b);

/// Listens to an execution in place of the store and compares it bit for bit with the recording:
/// every event, every measured value (except those of the wall clock), and the digests of every
/// worker at every checkpoint and at the end. Takes cuts where the recorded run took them.
///
/// Threads: those of Recorder and Checkpoints.
class RecordingComparison final : public Recorder, public Checkpoints {
 public:
  /// `from`: index of the cut from which the execution starts; −1: the beginning. `until`: index of
  /// the cut after which nothing is compared any more; absent: none for a run that came to an end,
  /// else its last. `enough` is called there, with what the execution found at it.
  RecordingComparison(const Recording& recording, int from, std::optional<std::size_t> until,
                      std::function<void(const Cut&)> enough,
                      std::function<void(const Position&)> progress);

  void sample(const Position& position, std::span<const Value> values) override;
  void progress(const Position& position) override { progress_(position); }
  void note(Severity, std::string_view) override {}
  void events(int worker, std::int64_t first, std::span<const Event> events) override;

  bool due(std::int64_t step, const Position& position) override;
  double next_time() const override { return kNever; }
  bool has(std::int64_t) const override { return cuts_are_compared(); }
  void save(const Cut& cut) override;

  /// Compares how the execution of `spec` ended. Call it last.
  void end(const Outcome& outcome, const RunSpec& spec);
  /// Notes a departure that the execution itself could not get over.
  void depart(Departure departure) EXCLUDES_LOCK(mutex_);

  /// The earliest departure; absent when all was equal. Its tensor may be that of a later moment,
  /// the first at which whole vectors could be compared.
  std::optional<Departure> first_departure() const EXCLUDES_LOCK(mutex_);
  /// "12 checkpoints and the final state of 8 workers, 40213 events, 1200 measured values"
  std::string compared() const EXCLUDES_LOCK(mutex_);
  bool compared_anything() const EXCLUDES_LOCK(mutex_);

 private:
  bool cuts_are_compared() const {
    return next_cut_ >= recording_.cuts.size() || (until_ && next_cut_ > *until_);
  }
  void compare_event(int worker, std::int64_t number, const Event& event);
  void compare_value(const Position& position, const Value& value);
  void compare_cut(const CutDigests& recorded, const CutDigests& found,
                   const std::vector<std::string>& tensors, Departure departure);
  void compare_position(const Position& recorded, const Position& found, std::string_view where);
  bool ended_alike(const Outcome& outcome);
  void compare_result(const AttemptResult& found);
  void compare_edges(const std::vector<AttemptResult::EdgeCount>& recorded,
                     const std::vector<AttemptResult::EdgeCount>& found, double time);
  void compare_mean(const Outcome& outcome);
  /// Expects no recorded values or events before `end` or, with `nor_after_it`, at all.
  void expect_nothing_left(const Position& end, bool nor_after_it);
  std::size_t accounted_for(const Series& series) const;
  void look_at_rest_of_log(int worker, double time, bool is_too_much) EXCLUDES_LOCK(mutex_);
  void depart_at(double time, std::string what, int worker = kWholeRun);
  /// Whether an older acid added this metric's values up in another order, and that is all.
  bool differs_by_rounding(const Metric* metric, const SeriesPoint& then, double now);
  /// Whether the metric is measured by the wall clock, so that a second execution cannot repeat it.
  bool of_the_clock(std::string_view metric) const;

  const Recording& recording_;
  const bool simulated_;            // seconds are simulated, so they can be repeated
  const bool finished_, diverged_;  // of the recorded run
  const int from_;  // index of the cut from which the execution starts; −1: the beginning
  const std::optional<std::size_t> until_;  // index of the last cut that is compared; absent: all
  const std::function<void(const Cut&)> enough_;
  const std::function<void(const Position&)> progress_;

  // Of sample(), save() and end(), which a driver never calls at the same time.
  std::size_t next_cut_ = 0;
  std::map<std::pair<std::string, int>, std::size_t> next_point_;  // in series
  std::set<std::string_view> rounded_;  // metrics that differ by rounding only
  std::int64_t values_ = 0;
  bool final_state_ = false;

  mutable Mutex mutex_;
  std::optional<Departure> first_ GUARDED_BY(mutex_);
  std::string first_tensor_ GUARDED_BY(mutex_);    // of the first departure with a known tensor
  std::vector<bool> departed_ GUARDED_BY(mutex_);  // by worker: its events are no longer looked at
  std::vector<std::int64_t> next_event_ GUARDED_BY(mutex_);
  bool over_ GUARDED_BY(mutex_) = false;  // the cut `until_` was compared
  std::int64_t events_ GUARDED_BY(mutex_) = 0;
};

}  // namespace acid

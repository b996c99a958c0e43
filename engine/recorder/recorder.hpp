#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "engine/recorder/event.hpp"

namespace acid {

/// The position of a run at a measurement: every axis along which a curve can be drawn.
struct Position {
  std::int64_t gradients = 0;  // committed, summed over workers
  double normalised_time = 0;  // in expected gradient durations
  double seconds = 0;          // wall clock spent on the run, simulated in `virtual`
  std::int64_t bytes = 0;      // sent, summed over workers
  template <class Archive>
  void persist(Archive& archive) {
    archive(gradients, normalised_time, seconds, bytes);
  }
};

inline constexpr int kWholeRun = -1;

/// One measured number. `metric` is one of the names in metrics.hpp; `worker` is kWholeRun or a
/// worker's index. Values may be NaN or infinite.
struct Value {
  std::string_view metric;
  int worker = kWholeRun;
  double value = 0;
};

enum class Severity { info, warning, error };

/// The engine reports to it while a run goes on. Calls drop nothing and block training only where
/// memory would run out; any thread may call. Positions of successive samples never decrease.
class Recorder {
 public:
  virtual ~Recorder() = default;
  /// Takes all values measured at one position.
  virtual void sample(const Position& position, std::span<const Value> values) = 0;
  /// Takes how far the run is; cheap enough to be called after every gradient.
  virtual void progress(const Position& position) = 0;
  virtual void note(Severity severity, std::string_view text) = 0;
  /// Takes the next events of a worker, in its order; `first` is the number of the first of them,
  /// counted from 0 over the whole run. Not called for runs without an event log.
  virtual void events(int worker, std::int64_t first, std::span<const Event> events) = 0;
};

}  // namespace acid

#pragma once

#include <optional>
#include <span>

#include "engine/run/event_log.hpp"
#include "engine/run/sampler.hpp"

namespace acid {

/// A gradient that its worker commits.
struct Commit {
  int worker = 0;
  double time = 0;         // normalised, of the event
  Position position = {};  // of the run right after it, as far as the driver can tell
  double learning_rate = 0;
  double loss = 0;
  std::span<const float> gradient = {};   // the worker's own
  std::span<const float> direction = {};  // what the optimiser is given: that, or an average of all
  bool begins_next = false;               // the next gradient begins at once
  bool is_first = false;                  // of this worker since the last sample
  std::optional<double> norm = {};        // of the gradient, where it has changed since
  /// Where there is a server: what it heard since its last reply, until the gradient was done.
  std::optional<std::int64_t> staleness = {};
  bool logs_staleness = false;  // that, in the event
};

/// Of the worker's gradient in flight, where what the worker hears changes it before its step;
/// nothing elsewhere.
std::optional<double> norm_before_hearing(const RunSpec& spec, Worker& worker);

/// Lets the worker commit, fills in the record of it, and logs the event. False where the loss is
/// none (can_be_loss): the run has diverged. The thread that may change the worker calls it, and
/// has the record to itself meanwhile.
bool commit(const Commit& what, Worker& worker, EventLog& log, GradientRecord& record);

}  // namespace acid

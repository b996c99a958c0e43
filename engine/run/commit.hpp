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
  std::span<const float> direction = {};  // the optimiser's input: that, or an average of all
  bool begins_next = false;               // the next gradient begins at once
  bool is_first = false;                  // of this worker since the last sample
  std::optional<double> norm = {};        // the gradient's, where hearing has changed it since
  /// With a server: messages that it heard from its last reply to the end of the gradient.
  std::optional<std::int64_t> staleness = {};
  bool logs_staleness = false;  // in the event
};

/// The norm of the worker's gradient in flight, for methods in which hearing changes the gradient;
/// nothing for others.
std::optional<double> norm_before_hearing(const RunSpec& spec, Worker& worker);

/// Lets the worker commit, fills in `record`, and logs the event. Returns false unless
/// can_be_loss(): the run diverged. Only the thread that may change the worker uses `record`.
bool commit(const Commit& what, Worker& worker, EventLog& log, GradientRecord& record);

}  // namespace acid

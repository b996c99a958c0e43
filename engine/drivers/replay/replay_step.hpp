#pragma once

#include <cstdint>

#include "engine/recorder/event.hpp"

namespace acid {

/// The next step of a script: an event of one worker, an exchange or the offers of two, or a mark
/// that all of them have reached.
struct ReplayStep {
  EventKind kind = EventKind::begin_gradient;
  double time = 0;
  int worker = 0;   // not for marks; the lower one for exchanges and offers
  int partner = 0;  // for exchange and offer
  /// exchange, offer, apply: the edge's number in the drawn list, or the message's at the server
  std::uint64_t exchange = 0;
  /// commits: the number of commits by its clock, this one included; offers to a server: that
  /// number of the worker's last gradient, 0 before its first
  std::int64_t gradient = 0;
  /// with a server: the staleness of the gradient (commits) or of the message (offers), which is
  /// how many messages arrived since the worker's last
  std::int64_t staleness = 0;
  bool computes = false;  // a gradient begins here that the script commits later
  /// offer, apply: by this worker alone, because it or its partner is lost later. measured,
  /// checkpoint: only in the log of this worker, which was lost before the mark was taken.
  bool alone = false;
};

}  // namespace acid

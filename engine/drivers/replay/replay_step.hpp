#pragma once

#include <cstdint>

#include "engine/recorder/event.hpp"

namespace acid {

/// The next thing that a script asks for: an event of one worker, an exchange or the offers of two,
/// or a mark that all of them have reached.
struct ReplayStep {
  EventKind kind = EventKind::begin_gradient;
  double time = 0;
  int worker = 0;   // not of marks; of an exchange and of offers the lower one
  int partner = 0;  // of exchange and offer
  /// exchange, offer, apply: the edge's number in the drawn list, or the message's at the server
  std::uint64_t exchange = 0;
  /// commits: how many there were by its clock, this one included; offers to a server: likewise of
  /// the worker's last gradient, 0 before it has one
  std::int64_t gradient = 0;
  /// where there is a server, of commits: of the gradient; of offers: of what is said, which is how
  /// many messages arrived since the worker's last
  std::int64_t staleness = 0;
  bool computes = false;  // a gradient begins here that the script commits later
  /// offer, apply: of this worker by itself, because it or its partner is lost later. measured,
  /// checkpoint: in the log of this worker only, which was lost before the mark was taken.
  bool alone = false;
};

}  // namespace acid

#pragma once

#include <cstddef>

#include "engine/drivers/virtual/virtual_time.hpp"

namespace acid {

/// How long a run of vectors of `dimension` floats takes under run_virtual(): the same driver, of
/// which only the clock runs, so that a gradient costs well under a microsecond. Nothing is
/// computed and no model exists, so the run ends by its budget alone: its target, its samples and
/// the divergence that they might find are left out. So are the bytes that a lattice codec sends
/// again because values did not fit, which no one knows beforehand; they cost no time, but may end
/// a budget of bytes earlier.
///
/// All else is equal to the last bit: of the outcome, `position`, `worker_idle_seconds`, `edges`,
/// the exchanges and `holds`; its other members are empty. `spec` may name any driver's backend and
/// cadence. Does not block; any thread.
Outcome run_clock(const RunSpec& spec, const VirtualOptions& options, std::size_t dimension);

}  // namespace acid

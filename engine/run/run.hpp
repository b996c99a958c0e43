#pragma once

#include <stop_token>

#include "engine/base/clock.hpp"
#include "engine/recorder/recorder.hpp"
#include "engine/run/cut.hpp"
#include "engine/run/run_spec.hpp"
#include "engine/worker/objective.hpp"

namespace acid {

/// The input of every driver. All that it refers to outlives the run.
struct Run {
  const RunSpec& spec;
  Objective& objective;  // each driver says how many lanes it needs
  Recorder& recorder;
  Checkpointing checkpointing = {};
  std::stop_token stop = {};            // asks the run to save itself and to end
  const Clock& clock = steady_clock();  // for drivers that run against the wall clock
};

}  // namespace acid

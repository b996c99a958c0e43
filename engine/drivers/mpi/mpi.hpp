#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "engine/run/run.hpp"
#include "engine/transport/device_link.hpp"
#include "engine/transport/transport.hpp"

namespace acid {

struct MpiOptions {
  Transport* transport = nullptr;  // required; its rank is this process's worker
  double slow_factor = 1;          // how many times longer this process takes over a gradient
  /// all-reduce: sums the values of all processes with the MPI library. Absent: our own reduction,
  /// whose bits depend on nothing else.
  std::function<void(std::span<float>)> library_sum = {};
  /// Asynchronous methods: moves the offers of an exchange between their devices; outlives the run.
  /// Null: the transport moves them, through host memory.
  DeviceLink* link = nullptr;
  /// Asynchronous methods: once it has begun, the run goes on without lost processes other than
  /// rank 0. Vectors then travel without windows; `link` must be null.
  bool goes_on = false;
};

/// One worker of a run per process, against the wall clock. All processes of the transport call it
/// with the same spec; worker i is rank i. Uses the objective's lanes 0 (gradients) and, on rank 0,
/// 1 (evaluation).
///
/// Only rank 0 uses the recorder and the checkpointing, and only it has an outcome. A stop request
/// in any process stops all. Throws LostProcess when a process cannot be reached any more, unless
/// the run goes on without it (`goes_on`).
///
/// Asynchronous methods: every worker has a clock of its own, the number of gradients of all
/// workers that it knows of ÷ n, which is never ahead of the truth. Exchanges follow the drawn list
/// without a process that hands them out: docs/MPI.md explains how.
Outcome run_mpi(const Run& run, const MpiOptions& options);

/// Cut::layout of such a run.
std::string_view mpi_state_layout(const RunSpec& spec);

}  // namespace acid

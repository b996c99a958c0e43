#pragma once

#include <stop_token>

#include "engine/base/error.hpp"
#include "worker/execute_run.hpp"

namespace acid {

/// Executes one run of a store with one process per worker: every process that the launcher has
/// started calls it. Only rank 0 opens the store and does what execute_run() does; the others get
/// the run's settings from it and exit with ok however the run ends. A process that cannot take
/// part, or whose program, libraries or data differ from rank 0's, keeps the run from beginning;
/// rank 0's error names it.
///
/// Throws as execute_run() does, on rank 0. When a process is lost, or one fails once the run has
/// begun, the whole job is ended with Exit::lost or the error's code, and the function does not
/// return. Before the run begins a process waits for each other process as long as
/// ExecuteOptions::start_seconds, after that half a minute for one that does not answer.
Exit execute_mpi(const ExecuteOptions& options, std::stop_token stop);

/// Prints MPI's description of itself as JSON. For acid doctor.
Exit print_mpi_environment();

/// Rank of this process as its launcher sets it, known before MPI has started; 0 without a
/// launcher.
int rank_in_environment();

}  // namespace acid

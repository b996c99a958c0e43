#pragma once

#include <functional>

#include "engine/transport/mpi_runtime.hpp"

namespace acid {

// How the processes of a job of acid-worker start and end MPI together.

/// How long a process may take to answer while the job is being ended. Only a stopped process, or
/// one on a host that is gone, takes as long.
inline constexpr double kSecondsToAnswer = 8;

/// Starts MPI in this process.
MpiRuntime& start_job(double start_seconds);
/// Waits until all processes have come, as long as further ones arrive.
void assemble_job(MpiRuntime& mpi, double start_seconds);
/// Ends MPI, together with all processes or, unless `all`, with those left.
void finish_job(MpiRuntime& mpi, bool all = true);

/// Does this process's part of the work, once all have come. Where it throws, this ends the whole
/// job and does not return. It waits first, so that rank 0 can record the loss, and the launcher
/// can notice a death by itself, name its signal and end all processes.
///
/// Where the others go on without a lost process (while rank 0 lives), it ends only itself; the
/// work sets `others_go_on` as soon as it knows.
void do_in_job(MpiRuntime& mpi, double start_seconds, const std::function<void()>& work,
               const bool& others_go_on);

}  // namespace acid

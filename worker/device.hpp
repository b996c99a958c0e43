#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/transport/device_link.hpp"
#include "worker/compose.hpp"

namespace acid {

/// Puts the run's vectors onto a GPU. Under MPI (`rank` given) the processes of a host take its
/// GPUs in turn, otherwise all workers share the first; CUDA_VISIBLE_DEVICES selects the GPUs.
/// Throws Error when there is none, with what is missing.
void compose_cuda(ComposedRun& run, std::optional<int> rank);

/// Makes a link between the GPUs of a run under MPI, or says why there is none. All processes call
/// it together. ACID_NCCL=off in any process turns it off.
DeviceConnection connect_devices_of(const ComposedRun& run, MpiRuntime& mpi,
                                    const std::vector<ProcessPlace>& places);

/// What `acid doctor` looks at: {"driver": …, "devices": […], "nccl": "2.28.9"}; "error" and
/// "nccl_error" say why something is missing.
nlohmann::json cuda_environment();

}  // namespace acid

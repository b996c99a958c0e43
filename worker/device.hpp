#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/transport/device_link.hpp"
#include "worker/compose.hpp"

namespace acid {

/// Puts the run's vectors onto a GPU. Under MPI (`rank` given) the processes of a
/// host take its GPUs in turn, otherwise all workers share the first; CUDA_VISIBLE_DEVICES chooses
/// which there are. Throws Error when there is none, with what is missing.
void compose_cuda(ComposedRun& run, std::optional<int> rank);

/// For a run on GPUs under MPI: a link between them, or why there is none. All processes call it
/// together. ACID_NCCL=off in any of them does without.
DeviceConnection connect_devices_of(const ComposedRun& run, MpiRuntime& mpi,
                                    const std::vector<ProcessPlace>& places);

/// {"driver": …, "devices": […], "nccl": "2.28.9"}: what `acid doctor` looks at; "error" and
/// "nccl_error" say why something is missing.
nlohmann::json cuda_environment();

}  // namespace acid

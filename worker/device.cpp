#include "worker/device.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <string_view>

#include "engine/base/error.hpp"
#include "engine/cuda/runtime.hpp"

namespace acid {
namespace {

using nlohmann::json;

// The rank of this process among those of its host, as its launcher sets it.
int local_rank_in_environment() {
  for (const char* name :
       {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "PMI_LOCAL_RANK", "SLURM_LOCALID"})
    if (const char* rank = std::getenv(name)) return std::max(0, std::atoi(rank));
  return 0;
}

bool nccl_is_off() {
  const char* const wanted = std::getenv("ACID_NCCL");
  return wanted != nullptr && std::string_view(wanted) == "off";
}

}  // namespace

void compose_cuda(ComposedRun& run, std::optional<int> rank) {
  CudaRuntime& cuda = load_cuda_runtime();
  const int devices = cuda.device_count();
  run.device = rank ? device_of(local_rank_in_environment(), devices) : 0;
  run.spec.backend = &cuda.backend(run.device);
  const json all = cuda.environment();
  run.cuda = {{"driver", all.at("driver")},
              {"runtime", all.at("runtime")},
              {"device", all.at("devices").at(static_cast<std::size_t>(run.device))}};
}

DeviceConnection connect_devices_of(const ComposedRun& run, MpiRuntime& mpi,
                                    const std::vector<ProcessPlace>& places) {
  DeviceEnd end;
  end.device = run.device;
  end.uuid = run.cuda.at("device").at("uuid");
  if (nccl_is_off()) {
    end.missing = "ACID_NCCL=off";
  } else {
    try {
      end.nccl = &load_nccl_runtime();
    } catch (const Error& error) {
      end.missing = error.what();
    }
  }
  return connect_devices(mpi, end, places);
}

json cuda_environment() {
  json surroundings;
  try {
    surroundings = load_cuda_runtime().environment();
  } catch (const Error& error) {
    surroundings["error"] = error.what();
  }
  try {
    surroundings["nccl"] = load_nccl_runtime().version();
  } catch (const Error& error) {
    surroundings["nccl_error"] = error.what();
  }
  return surroundings;
}

}  // namespace acid

#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/drivers/driver.hpp"
#include "engine/run/run_spec.hpp"
#include "engine/topology/topology.hpp"
#include "engine/transport/mpi_runtime.hpp"
#include "engine/worker/objective.hpp"

namespace acid {

/// A run's settings turned into the engine's objects. Owns what the spec points to; not movable.
struct ComposedRun {
  DriverKind driver = DriverKind::virtual_time;
  std::unique_ptr<Topology> topology;
  std::unique_ptr<Objective> objective;
  RunSpec spec;
  DriverOptions options;  // of mpi nothing: each process has its own, as the next four lines say
  std::vector<double> mpi_slow_factors;  // by worker; empty: all 1
  bool mpi_library_sum = false;          // all-reduce by the MPI library: not reproducible
  bool mpi_goes_on = false;              // without processes that are lost
  MpiTransportOptions mpi_transport;
  std::vector<std::pair<std::string, std::string>> file_digests;  // path, SHA-256
  nlohmann::json model_runtime;  // LibTorch's environment; null for analytic tasks
  nlohmann::json cuda;           // {"driver", "runtime", "device": {…}}; null on the processor
  int device = 0;                // of CUDA
};

/// `settings` as PlannedRun::settings (recipes/plan.hpp). Reads data files, loads LibTorch when the
/// task has a model. `cores` is how many this process may use. `rank`: of this process among those
/// of an MPI run; absent: the run is executed in one process, all its workers as threads.
std::unique_ptr<ComposedRun> compose(const nlohmann::json& settings, int cores,
                                     std::optional<int> rank = std::nullopt);

/// Every seed the run derives, and those that its data set and its graph derive from seeds of their
/// own: {"gossip_clock": …, "workers": {"data_order": [per worker], …}}.
nlohmann::json derived_seeds(const nlohmann::json& settings, const Seeds& seeds, int workers);

}  // namespace acid

#pragma once

#include <ctime>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/drivers/driver.hpp"
#include "engine/python/shared_memory.hpp"
#include "engine/run/run_spec.hpp"
#include "engine/topology/topology.hpp"
#include "engine/worker/objective.hpp"
#include "settings/run_settings.hpp"

namespace acid {

/// A run's settings turned into the engine's objects. It owns what the spec points to; not movable.
struct ComposedRun {
  RunSettings settings;
  std::unique_ptr<Topology> topology;
  std::unique_ptr<SharedMemory> memory;  // for the vectors, where processes compute the gradients
  std::unique_ptr<Objective> objective;
  RunSpec spec;
  // Not for mpi: there each process has options of its own, from settings.execution.mpi.
  DriverOptions options;
  std::time_t read_since = 0;                                     // when the first file was opened
  std::vector<std::pair<std::string, std::string>> file_digests;  // path, SHA-256
  nlohmann::json model_runtime;      // the library that computes gradients; null for analytic tasks
  std::vector<std::string> remarks;  // printed and recorded
  nlohmann::json cuda;  // {"driver", "runtime", "device": {…}}; null on the processor
  int device = 0;       // CUDA's number of it

  DriverKind driver() const { return settings.execution.driver; }
};

/// Reads data files, and loads LibTorch when the task has a model. `cores`: how many this process
/// may use. `rank`: of this process among those of an MPI run; absent: one process executes the
/// run, with all its workers as threads.
std::unique_ptr<ComposedRun> compose(RunSettings settings, int cores,
                                     std::optional<int> rank = std::nullopt);

/// Every seed that the run derives, and the seeds that its data set and its graph derive from seeds
/// of their own: {"gossip_clock": …, "workers": {"data_order": [per worker], …}}.
nlohmann::json derived_seeds(const RunSettings& settings);

}  // namespace acid

#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/fields.hpp"
#include "engine/base/rng.hpp"
#include "engine/data/augmentation.hpp"
#include "engine/drivers/driver.hpp"
#include "engine/run/run_spec.hpp"
#include "engine/transport/mpi_runtime.hpp"
#include "engine/worker/optimizer.hpp"
#include "settings/drivers.hpp"

namespace acid {

// The settings of a run, filled from the JSON that is stored and digested. The options of a catalog
// entry (data set, model, partition, graph or method) stay JSON: only the entry reads them.

struct TaskSettings {
  nlohmann::json dataset;
  nlohmann::json model;           // null for analytic tasks
  nlohmann::json partition;       // null where there are no batches
  std::optional<int> batch_size;  // examples per gradient and worker; absent as above
  std::int64_t validation = 0;    // training examples held out
  double label_noise = 0;         // share of the training labels that are replaced
  double label_smoothing = 0;     // share of a label spread over all classes, in gradients
  double feature_shift = 0;       // variance of the noise on the last worker's training examples
  Augmentation augmentation;      // of training images
  bool average_buffers = true;    // false: each worker keeps its own
};

/// Seeds that stay fixed while the run's own varies.
struct StreamSettings {
  std::optional<std::uint64_t> init, data, gossip, compute;
  Seeds seeds(std::uint64_t run_seed) const;
};

/// Without every_time and every_seconds: as often as costs little.
struct CheckpointSettings {
  std::optional<double> every_time;  // normalised
  std::optional<double> every_seconds;
  int keep = 2;
};

struct RecordSettings {
  std::optional<std::set<std::string, std::less<>>> metrics;  // absent: all
  bool events = false;
};

struct MpiSettings {
  std::string launcher = "mpirun";  // or "srun", "none": acid itself was started once per worker
  std::vector<std::string> hosts;
  std::string hostfile;  // empty: none
  std::optional<int> processes_per_host;
  std::vector<std::string> arguments;   // of the launcher
  std::optional<double> start_seconds;  // absent in runs of an earlier acid
  bool go_on = false;                   // without lost processes, if the method can
  bool library_sum = false;             // all-reduce by the MPI library: not reproducible
  MpiTransportOptions transport;
};

struct ExecutionSettings {
  DriverKind driver = DriverKind::virtual_time;
  bool cuda = false;  // workers' memory; analytic tasks still compute on the CPU
  int threads_per_worker = 1;
  double max_backlog = 4;
  std::optional<double> max_load;  // of the busiest worker, from plans; absent: any
  int max_restarts = 3;
  bool predict = false;                 // acid run predicts its runs before they begin
  int predict_runs = 5;                 // that are simulated for it; 0: losses are not predicted
  VirtualOptions simulation;            // but for its threads, which are no setting
  std::optional<int> exchange_threads;  // absent: chosen from cores and workers
  std::optional<MpiSettings> mpi;       // there for that driver, and for no other
  /// How many times longer each worker takes over a gradient, as its driver's section says; empty:
  /// all alike.
  std::vector<double> slow_factors;

  const DriverEntry& entry() const { return entry_of(driver); }
};

struct RunSettings {
  int workers = 1;
  nlohmann::json topology;  // null if the method reads no graph
  nlohmann::json algorithm;
  TaskSettings task;
  OptimizerSettings optimizer;
  Schedule schedule;
  bool scales_with_workers = false;  // schedule.scale follows from the total batch
  Budget budget;
  Cadence cadence{.consensus_every = kNever};
  CheckpointSettings checkpoint;
  RecordSettings record;
  ExecutionSettings execution;
  std::uint64_t seed = 0;
  StreamSettings streams;

  Seeds seeds() const { return streams.seeds(seed); }
};

/// The sections of a recipe that describe a run, in the order in which they are checked; the last
/// is "algorithm", a table of [[algorithms]]. Each key is declared once, with its member of the
/// structs above; that declaration checks, completes, stores, reads and explains it.
const FieldTable& run_table();

/// What a dotted key of settings says besides what is computed.
struct KeyRole {
  bool is_placement = false;  // Field::placement, also of a section above: runs with other values
                              // are the same run
  bool is_file = false;       // a path: runs of the same content are the same run
};
KeyRole role_of_key(std::string_view key);

/// From PlannedRun::settings (recipes/plan.hpp), also of an earlier acid, or of a group, which has
/// no seed. Throws StoreError if they have another form, which acid never writes.
RunSettings settings_from(const nlohmann::json& resolved);
/// The task only.
TaskSettings task_from(const nlohmann::json& resolved);

/// The name of a run's graph; "any" if the run reads none.
std::string graph_name(const nlohmann::json& topology);

/// Whether a table of settings is by worker, as slow_workers = { 0 = 10.0 }; such a table is one
/// value. Without workers it is empty.
bool is_by_worker(const nlohmann::json& table);

/// Whether a run under MPI goes on without lost processes; only asynchronous methods can.
bool goes_on_without_lost(const RunSettings& settings);

/// Whether simulated messages stand for a model of another size, and this run, which takes real
/// time, sends its own. `parameters`: of the run's model.
bool sends_own_vectors(const RunSettings& settings, std::int64_t parameters);

}  // namespace acid

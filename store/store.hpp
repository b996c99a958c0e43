#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/error.hpp"
#include "engine/recorder/recorder.hpp"
#include "engine/recorder/span.hpp"

namespace acid {

/// What a recipe compiled to, as the store keeps it.
struct ExperimentRecord {
  std::string id;  // first 12 digits of recipe_digest, or another: store/experiment_id.hpp
  std::string name;
  std::string recipe_path;
  std::string recipe_text;
  std::string recipe_digest;
  std::vector<std::string> overrides;
  std::string command_line;
  nlohmann::json search;  // what its search chose; null: it has none, or none yet
  /// How its runs are to be compared: {"primary": metric, "margins": {metric: {"value": number,
  /// "relative": true or false}}, "consensus_baseline": label or method, "left_out": [{"algorithm",
  /// "label", "settings", "reason"}], the cells of its sweep without runs}; keys that the recipe
  /// does not have are absent. null: the recipe says nothing about comparing.
  nlohmann::json comparison = {};
};

/// A planned run, as the store keeps it.
struct RunRecord {
  std::string id;
  std::string algorithm;
  std::string label;
  std::uint64_t seed = 0;
  std::string digest;
  std::string group;
  nlohmann::json settings;
  std::string driver;
  std::string topology;  // kind
  int workers = 1;
  std::int64_t budget_gradients = 0;
  bool is_search = false;  // tried by the experiment's search, and not to be compared
  nlohmann::json plan;     // the rest of `acid plan --json` for this run: chi1, …, bytes, load
};

enum class RunState { planned, running, finished, failed, diverged, interrupted };
std::string_view state_name(RunState state);
/// Whether the run has ended and would end the same way again.
inline bool is_over(RunState state) {
  return state == RunState::finished || state == RunState::diverged;
}
/// Throws UsageError naming the known states.
RunState state_from_name(std::string_view name);

/// The process that executes an attempt. A running row whose process is gone shows as interrupted:
/// the pair (pid, process start time) is compared where the process can be seen, which requires the
/// same host, boot and PID namespace; otherwise the heartbeat decides.
struct Lease {
  std::string host;
  std::string boot_id;  // and, after a space, the PID namespace: "pid:[4026531836]"
  std::int64_t pid = 0;
  std::int64_t process_start = 0;  // clock ticks after boot, /proc/PID/stat field 22
  static Lease of_this_process();
  bool alive() const;  // false when it is certainly gone
};

/// What an attempt leaves behind, written in the transaction that ends it.
struct AttemptResult {
  RunState state = RunState::finished;
  std::string message;                      // why it failed, diverged or stopped; else empty
  Position position;                        // where it ended
  std::vector<std::string> worker_digests;  // SHA-256 of each worker's final x
  std::string mean_digest;                  // of the final mean
  struct EdgeCount {
    int i = 0, j = 0;
    double nominal = 0;      // λᵢⱼ
    std::int64_t count = 0;  // exchanges executed
  };
  std::vector<EdgeCount> edges;  // every edge up to 100,000 of them, else those used
  double realised_rate = 0;      // 2 × exchanges ÷ gradients
  std::optional<double> realised_chi1, realised_chi2;
  std::int64_t exchanges_drawn = 0, exchanges_done = 0, exchanges_waiting = 0;
  /// How many calendar entries (samples, evaluations, checkpoints) this attempt skipped because the
  /// run was already past them. Absent where an older acid did not count.
  std::optional<std::int64_t> samples_skipped, evaluations_skipped, checkpoints_skipped;
  std::vector<std::int64_t> worker_gradients;  // committed, per worker
  std::vector<double> worker_idle_seconds;
  /// Gradients by staleness 0, 1, 2, …; the last place counts all of that staleness or more. Empty
  /// when it was not counted.
  std::vector<std::int64_t> staleness;
  /// By worker, how it spent the time of its first gradients in this attempt; only read_spans()
  /// reads it back. May be empty.
  std::vector<std::vector<Span>> worker_spans;
  struct Artifact {
    std::string role;  // "final-mean"
    std::string path;  // relative to the store's folder
    std::string sha256;
    std::int64_t bytes = 0;
    std::string removed{};  // UTC time when the file was let go of; empty: it is there
  };
  std::vector<Artifact> artifacts;
};

/// A checkpoint file that has been written and is passed to RunWriter::checkpoint().
struct CheckpointRecord {
  std::int64_t step = 0;  // of the driver, see engine/run/cut.hpp
  Position position;
  std::string path;  // relative to the store's folder
  std::string sha256;
  std::int64_t bytes = 0;
  /// Digests of what the cut held, which can be compared after the file is gone. By worker: SHA-256
  /// of x, and for each tensor of x the first 8 bytes of its SHA-256, in order.
  std::vector<std::string> worker_digests;
  std::vector<std::vector<std::uint64_t>> tensor_digests;
};

/// How an attempt continues an earlier one.
struct Continuation {
  std::int64_t checkpoint = 0;  // id of a CheckpointRow of the run
  nlohmann::json changed;       // what differs from the attempt that wrote it and was allowed, as
                                // {key: [then, now]}; empty or null: nothing
};

/// What a process knew of a run when it decided to begin an attempt at it.
struct RunVersion {
  std::size_t attempts = 0;
  RunState state = RunState::planned;  // as computed: a dead lease is interrupted
  int newest_checkpoint = 0;           // number of the newest that is not superseded; 0: none
  bool operator==(const RunVersion&) const = default;
};

/// The result of acid verify, for the record.
struct Verification {
  bool equal = false;
  std::string message;               // what was compared, or where it first differs
  std::optional<std::int64_t> from;  // id of the checkpoint it started from; absent: the start
  nlohmann::json environment;        // of the machine that verified
  std::string proof = {};            // verified_state() of what was verified; empty: as it is now
};

/// What a number of a run was predicted to be.
struct PredictedValue {
  std::string quantity;                   // "seconds", "iteration_seconds", "bytes", or a metric
  std::optional<double> normalised_time;  // of an evaluation; absent: of the whole run
  double mean = 0, low = 0, high = 0;     // low to high: one further run with a chance of 90 %
  std::vector<double> draws;
};

struct RunPrediction {
  std::string run;         // id
  std::string experiment;  // id of the one whose simulated runs it is made from; empty: none
  std::vector<PredictedValue> values;
  std::string made = {};  // UTC; the store sets it
  /// Said to be made after the run's first attempt began, or not as it was written: no prediction.
  bool is_late = false, is_altered = false;
};

/// Another process has executed the run meanwhile: what the caller knew of it no longer holds.
class Overtaken : public StoreError {
 public:
  using StoreError::StoreError;
};

/// A folder with store.db and checkpoints/. One connection; use from one thread.
/// Every failure is a StoreError that names the folder and the remedy.
class Store {
 public:
  enum class Access {
    read,   // must exist; never writes, never checkpoints the WAL
    write,  // created when absent, migrated when older; a newer schema is refused
  };
  Store(const std::string& folder, Access access);
  ~Store();
  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;

  const std::string& folder() const;

  /// Adds, in one transaction, the experiment, its new runs, and their order in it. Runs already
  /// known by digest are shared, not copied, and take over settings and plan unless a living
  /// process executes them; a run that is listed twice keeps its first place. An experiment that
  /// exists already becomes the newest and holds exactly these runs.
  void add_experiment(const ExperimentRecord& experiment, const std::vector<RunRecord>& runs);

  /// Stores predictions of known runs, in one transaction. A run that has been begun gets none, and
  /// one that has a prediction keeps it. Returns how many were stored.
  std::size_t add_predictions(const std::vector<RunPrediction>& predictions);

  /// Opens a new attempt: state running, lease, number = last + 1. In the same transaction, what
  /// earlier attempts of the run recorded is superseded: all of it, or with `continued` what lies
  /// after that checkpoint (values, events, later checkpoints). Throws StoreError when a living
  /// process holds the run or when the checkpoint is superseded, and Overtaken when the run is no
  /// longer as it was `known`. Returns the attempt's row id. `seeds`: {purpose: value, …,
  /// "workers": {purpose: [value per worker]}}; `file_digests`: (path, SHA-256) of each data file;
  /// `holdings`: Objective::holdings().
  std::int64_t begin_attempt(const std::string& run_id, const Lease& lease,
                             const nlohmann::json& environment, const nlohmann::json& seeds,
                             const std::vector<std::pair<std::string, std::string>>& file_digests,
                             const std::optional<Continuation>& continued = std::nullopt,
                             std::optional<RunVersion> known = std::nullopt,
                             const std::vector<std::vector<std::int64_t>>& holdings = {});
  /// Ends the attempt, which this store has begun. The end, and all that was flushed before, is on
  /// disk when it returns. Once per attempt. Waits as long as the store is locked. Throws
  /// StoreError, with nothing changed, when another process has begun a later attempt or removed
  /// the run.
  void end_attempt(std::int64_t attempt, const AttemptResult& result);
  /// For the supervisor: its worker process `pid` died without ending its attempt. No effect when
  /// the attempt has ended, except that a caller who `knows_better` says why it was interrupted;
  /// attempts of other processes are left alone.
  void mark_interrupted(const std::string& run_id, std::int64_t pid, const std::string& message,
                        bool knows_better = false);

  /// Records a verification of the run's newest attempt, made by this process. The run must have an
  /// attempt. Waits as long as the store is locked.
  void add_verification(const std::string& run_id, const Verification& verification);

  struct Impl;
  Impl& impl() { return *impl_; }  // for this folder and its tests only
  const Impl& impl() const { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace acid

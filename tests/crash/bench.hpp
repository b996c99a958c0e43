#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/cli/program.hpp"

namespace acid::test {

#ifdef ACID_SANITIZED
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

/// A program that takes longer than this hangs, even on a very busy machine.
inline constexpr double kPatienceSeconds = 300;

/// The records of a finished run that must not depend on whether it was interrupted.
struct Kept {
  nlohmann::json digests;  // of acid show --json: of each worker and of the mean
  std::string points;      // of acid export --format csv: every value that was ever recorded
};

/// A folder with a recipe, crash.toml, and processes that run it there. One test uses it at a time.
class Bench : public Folder {
 public:
  explicit Bench(const std::string& recipe);
  /// Kills processes that still run in the folder, so that a failed check leaves nothing behind.
  ~Bench();

  /// Starts `acid run crash.toml` with more options.
  Running start(const std::vector<std::string>& options = {},
                const std::vector<std::string>& environment = {}) const;
  /// Runs the same command to its end.
  Result run(const std::vector<std::string>& options = {},
             const std::vector<std::string>& environment = {}) const;
  /// The same; its exit code must be 0.
  Result done(const std::vector<std::string>& options = {}) const;
  /// Checks that the store has no faults.
  void check_sound() const;
  /// Runs any command to its end.
  Result call(const std::vector<std::string>& arguments,
              const std::vector<std::string>& environment = {}) const;
  /// Runs a shell command in the folder; $ACID is the program. For tests that need a wrapper around
  /// it.
  Result shell(const std::string& command) const;

  /// The kept records by run id. Every run must have finished.
  std::map<std::string, Kept> kept() const;

  /// Processes that work in the folder: acid and its workers, also orphaned ones.
  std::vector<pid_t> processes() const;
  /// The processes of the folder that execute acid-worker.
  std::vector<pid_t> workers() const;
  /// The processes of the folder that are one worker under MPI.
  std::vector<pid_t> ranks() const;
  /// Waits for the last process to end. False when some still run after `seconds`.
  bool falls_silent(double seconds) const;
  /// Waits until a run can be resumed. False when there is no checkpoint after `seconds`.
  bool has_checkpoint_within(double seconds) const;
};

/// As running.wait(), but kills everything in the folder and throws after `seconds`.
Result wait_at_most(const Bench& bench, Running& running, double seconds);

/// A script that can be given as ACID_WORKER: it executes `prelude`, then the real worker in the
/// same process. Returns the assignment for the environment.
std::string worker_after(const Bench& bench, const std::string& prelude);

void sleep_seconds(double seconds);

/// The faults of a store to which no process writes, a line each: the output of SQLite's
/// integrity_check and foreign_key_check, and files that a row names but that are missing or differ
/// from their digest. Empty when the store is sound. Written against the schema, without acid's own
/// inspection, which is under test.
std::string faults(const std::string& store_folder);

/// The difference of two records in words; empty when they are equal. Values measured by the wall
/// clock are not compared.
std::string difference(const std::map<std::string, Kept>& expected,
                       const std::map<std::string, Kept>& found);

/// A run that was stopped before its end.
struct Stopped {
  std::unique_ptr<Bench> bench;
  Result result;
};
/// Starts a run of the recipe and has `stop` stop it once there is a checkpoint. If the run had
/// already ended (on a busy machine), tries again.
Stopped stopped_run(const std::string& recipe,
                    const std::function<void(const Bench&, const Running&)>& stop,
                    const std::vector<std::string>& options = {});

/// The records of a recipe's runs in a store of their own, without any disturbance. Each recipe is
/// run once per process.
std::map<std::string, Kept> uninterrupted(const std::string& recipe);

}  // namespace acid::test

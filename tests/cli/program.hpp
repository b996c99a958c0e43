#pragma once

#include <sys/types.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/scratch.hpp"

namespace acid::test {

/// The result of a finished program.
struct Result {
  int code = -1;  // its exit code; −1 when a signal ended it
  std::string out, err;
  double seconds = 0;      // from start to end, wall clock
  int signal = 0;          // the signal that ended it; 0: none
  double cpu_seconds = 0;  // processor time of the program and of children it waited for
  nlohmann::json json() const { return nlohmann::json::parse(out); }
};

/// A folder in which the program runs.
class Folder : public ScratchFolder {
 public:
  std::string write_program(const std::string& name, const std::string& content) const;
  /// A copy of ./acid-store, to be altered; replaces what has that name.
  std::string copy_of_store(const std::string& name = "other") const;

  /// Runs `acid` with these arguments to its end. `more`: "NAME=VALUE", before `environment` and
  /// the inherited variables.
  Result call(const std::vector<std::string>& arguments,
              const std::vector<std::string>& more = {}) const;
  /// The same; the exit code must be 0.
  Result done(const std::vector<std::string>& arguments,
              const std::vector<std::string>& more = {}) const;
  /// What it prints as JSON; `--json` is added to the arguments.
  nlohmann::json told(std::vector<std::string> arguments) const;
  /// The runs of `acid list`, and everything of one.
  nlohmann::json runs() const { return told({"list"})["runs"]; }
  nlohmann::json shown(const std::string& run = "@latest") const { return told({"show", run}); }

  std::vector<std::string> environment;  // of every acid that is started here
};

/// Checks how a command ended, and that standard error says all of that.
void check_ended(const Result& result, int code, const std::vector<std::string>& says);
/// The same, and that it printed nothing.
void check_refused(const Result& result, const std::vector<std::string>& says, int code = 2);

/// An `acid` process that was started in a folder, with its store in ./acid-store.
class Running {
 public:
  Running(const Folder& folder, const std::vector<std::string>& arguments,
          const std::vector<std::string>& more = {});
  pid_t pid() const { return pid_; }
  /// What it has written to standard output and standard error so far.
  std::string out() const;
  std::string err() const;
  /// Waits until it ends. Call it once.
  Result wait();

 private:
  pid_t pid_;
  const Folder* folder_;
  std::string name_;  // of the files that hold its output
  double started_;
};

/// Whether running.wait() would return at once.
bool has_ended(const Running& running);

/// Waits until a process has slept and woken up several times, so that it has done all its repeated
/// work since. False when it has ended, or has not woken up within a minute.
bool looks_around(pid_t pid);

/// Whether runs under MPI can be tried here; if not, says so on standard error.
bool there_is_mpi();
/// Whether this build has models.
bool there_is_torch();

/// A recipe on an analytic task that takes milliseconds: two seeds of three algorithms.
inline constexpr const char* kSmallRecipe = R"(
name = "small"
seeds = [1, 2]
task.dataset = { kind = "quadratic", dimension = 16, noise = 0.1, heterogeneity = 1.0 }
optimizer.learning_rate = 0.05
workers.count = 4
topology.kind = "ring"
budget.gradients = 400
evaluation.every_gradients = 100
[[algorithms]]
kind = "ar-sgd"
[[algorithms]]
kind = "ad-psgd"
[[algorithms]]
kind = "a2cid2"
)";

/// A folder with that recipe.
struct SmallStudy : Folder {
  SmallStudy() { write("small.toml", kSmallRecipe); }
  Result run(std::vector<std::string> options = {}) const {
    options.insert(options.begin(), {"run", "small.toml"});
    return call(options);
  }
};

}  // namespace acid::test

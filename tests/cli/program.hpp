#pragma once

#include <sys/types.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

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

/// An empty folder, removed with everything in it. The program runs inside it.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string path(const std::string& name = {}) const;
  bool has(const std::string& name) const;
  std::string read(const std::string& name) const;
  /// Writes a file and returns its path.
  std::string write(const std::string& name, const std::string& content) const;
  std::string write_program(const std::string& name, const std::string& content) const;

 private:
  std::string path_;
};

/// An `acid` process that was started in a folder, with its store in ./acid-store.
class Running {
 public:
  Running(const Folder& folder, const std::vector<std::string>& arguments,
          const std::vector<std::string>& environment = {});
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

/// Runs `acid` with these arguments to its end. `environment`: "NAME=VALUE", added to the inherited
/// variables.
Result acid(const Folder& folder, const std::vector<std::string>& arguments,
            const std::vector<std::string>& environment = {});

/// Whether runs under MPI can be tried here; if not, says so on standard error.
bool there_is_mpi();
/// Whether this build has models.
bool there_is_torch();

/// A recipe on an analytic task that takes milliseconds: two seeds of three algorithms.
inline constexpr const char* kSmallRecipe = R"(
name = "small"
seeds = [1, 2]
[task]
dataset = { kind = "quadratic", dimension = 16, noise = 0.1, heterogeneity = 1.0 }
[optimizer]
kind = "sgd"
learning_rate = 0.05
[workers]
count = 4
[topology]
kind = "ring"
[budget]
gradients = 400
[[algorithms]]
kind = "ar-sgd"
[[algorithms]]
kind = "ad-psgd"
communication_rate = 1.0
[[algorithms]]
kind = "a2cid2"
communication_rate = 1.0
[evaluation]
every_gradients = 100
)";

}  // namespace acid::test

#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace acid::bench {

/// An empty folder for temporary files ($TMPDIR, else /tmp), removed with everything in it.
class Scratch {
 public:
  Scratch();
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  /// The path of the folder, or of something in it.
  std::string path(const std::string& name = {}) const;

 private:
  std::string path_;
};

/// `acid`, beside this program.
std::string acid_program();
/// The path of a program that is built beside this one. Throws Error that names its target when it
/// is missing.
std::string built_program(const std::string& name);

/// Runs a program and returns the CPU seconds of it and of all processes that it waited for. Throws
/// Error with the end of its output when it fails. `environment`: "NAME=VALUE", added to the
/// inherited variables. Any thread.
double run_program(const std::vector<std::string>& arguments,
                   const std::vector<std::string>& environment = {});

/// The time of one start of a program, from its start to its end.
struct Started {
  double seconds = 0;
  double cpu_seconds = 0;
};
/// Runs a program to its end and discards its standard output. Throws Error when it cannot be
/// started or its exit code is not 0.
Started time_program(const std::vector<std::string>& words);
/// Writes a store of finished runs with six metrics of `points` samples each into `folder`.
void make_big_store(const std::string& folder, int runs, int points);

/// A process's children that it has not waited for yet; none if the process is gone.
std::vector<pid_t> children_of(pid_t pid);

}  // namespace acid::bench

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "store/queries.hpp"

namespace acid {

/// What the processes of one host did with some runs; of a batch job, those of one task there.
struct HostWork {
  std::string host;
  std::string task;                  // "slurm 123, task 4"; empty: of no batch job
  std::vector<std::string> running;  // ids of the runs that its living processes execute
  int finished = 0;                  // attempts that finished or diverged
  int lost = 0;                      // attempts whose process was gone before it could end them
  int taken_over = 0;                // runs with which it went on after another row had lost them
  std::int64_t gradients = 0;        // computed in all its attempts
  double seconds = 0;                // that these took, wall clock
  std::string last_sign;             // of life, UTC
  double silent_seconds = 0;         // since then

  /// "node3", "node3 (slurm 123, task 4)".
  std::string name() const;
};

/// An attempt whose process was gone, and who went on with the run.
struct LostAttempt {
  std::string run;             // its id
  std::string name;            // HostWork::name()
  std::int64_t gradients = 0;  // where it was last heard of
  std::string next;            // HostWork::name() of the next attempt; empty: there is none
  std::int64_t from = 0;       // where that one went on: gradients

  /// "run ab12 was lost on node2 at gradient 4400; node3 took it over from gradient 4000".
  std::string words() const;
};

/// Where runs were and are executed.
struct HostsAtWork {
  std::vector<HostWork> hosts;    // by name, numbers in it by size
  std::vector<LostAttempt> lost;  // those that wait for a process first, then the newest first

  /// Whether there is more to tell than that one host executes them all.
  bool are_several() const { return hosts.size() > 1; }
};

HostsAtWork hosts_at_work(const std::vector<AttemptSummary>& attempts);

}  // namespace acid

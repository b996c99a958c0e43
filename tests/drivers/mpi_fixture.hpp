#pragma once

#include <atomic>
#include <functional>
#include <stop_token>
#include <vector>

#include "engine/drivers/mpi/mpi.hpp"
#include "tests/drivers/replay_fixture.hpp"
#include "tests/transport/local_cluster.hpp"

namespace acid::test {

/// Threads that stand for the processes of a run under the mpi driver. Rank 0 reports to
/// `recorder`.
struct Processes {
  const RunSpec& spec;
  nlohmann::json task;                   // of the quadratic
  std::vector<MpiOptions> options = {};  // by rank; default for missing ones
  bool windows = true;                   // partners reach each other's memory
  bool goes_on = false;                  // without lost processes
  std::atomic<int> lost = 0;             // processes that ended by an error
  /// Called with the cluster before it is used.
  std::function<void(LocalCluster&)> before = {};
  int asks_to_stop = 0;  // the rank that gets the stop request
  /// Called with the cluster by a thread of its own while the run goes on.
  std::function<void(LocalCluster&)> meanwhile = {};
  /// The objective of one process; absent: the quadratic.
  std::function<std::unique_ptr<Objective>(int rank)> objective = {};
  /// Checkpointing::look_first of one process.
  std::function<void(int rank)> look_first = {};
  BeforeGradient before_gradient = {};  // of the quadratic; called by all processes
  /// The reason for a process's end, by rank: "" or the message of its error.
  std::vector<std::string> errors = {};
  std::vector<std::uint64_t> floats_sent = {};  // in bodies of messages, by rank

  /// Rank 0's outcome.
  Outcome run(MemoryRecorder& recorder, const Checkpointing& checkpointing = {},
              std::stop_token stop = {});
};

/// Runs a setup's run as processes, none of which may end by an error.
Outcome run_as_processes(Setup& setup);

/// Checks that no process ended by an error.
void check_no_errors(const Processes& processes);

/// The log of an asynchronous run.
ReplayScript script(const MemoryRecorder& recorder, int workers);
/// Checks that the log gives every event, digest and value of the run again.
void check_replays(Replayable& run, const MemoryRecorder& recorder, const Outcome& recorded);

std::int64_t sum(const std::vector<std::int64_t>& values);

}  // namespace acid::test

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/processes/supervisor.hpp"
#include "store/queries.hpp"

namespace acid {

/// How a worker process ended. Under MPI the launcher reports the end of one of the processes.
struct Death {
  std::string how;       // "acid-worker ended with SIGKILL"
  bool alone = false;    // not requested; another attempt may succeed
  bool told = false;     // by the launcher, which knows more than the run's processes
  int signal = 0;        // 0: none
  std::int64_t pid = 0;  // of the process that holds the run's lease; 0: none yet
};

/// What an Executor knows of a run for which it has started a worker process.
struct StartedRun {
  /// A process for the run is about to be started; `attempts_now`: how many attempts the run has.
  void start(std::size_t attempts_now);
  /// The end of the whole lines that its process has printed so far, without its prefix and a
  /// launcher's remarks; new_words() leaves them out from now on.
  std::string first_words(const std::string& output);
  /// The same of the part of its process's output that was not passed on yet.
  std::string new_words(const std::string& output) const;
  /// `ending`: of its process, or of the launcher of that; `run`: as it is recorded now.
  Death death_of(const Supervisor::Ending& ending, const RunDetail& run) const;

  int times = 0;                      // how often it was started
  int losses = 0;                     // how often its process died
  std::size_t attempts_at_first = 0;  // its attempts before the first start
  // What follows is since the last start.
  struct Lost {
    Supervisor::Ending ending;
    Death death;
  };
  std::size_t attempts = 0;     // its attempts before this start
  bool launched = false;        // by an MPI launcher
  double begins_by = 0;         // on the executor's clock: the latest time for an attempt to begin
  int max_restarts = 0;         // how often it may be started again
  bool begun = false;           // an attempt has begun and was announced
  bool awaited = false;         // it was said what its processes wait for
  std::optional<double> ended;  // when its attempt was seen to have ended
  bool outlived = false;        // by its launcher, which was then told to end
  bool overdue = false;         // no attempt began in time, so its launcher was told to end
  std::optional<Lost> lost;     // the end of its process, while the lease still seems alive
  std::string said;             // the beginning of its output, which was passed on
};

/// Records that a process for the run was started and ended before it began an attempt; `why`: its
/// own words. A run that was never executed gets a failed attempt; an interrupted run keeps what it
/// has, and its message says why it did not go on. A run with a result stays as it is. Where the
/// store cannot be written nothing is recorded: other runs still go on.
void record_failed_start(const std::string& store_folder, const RunDetail& run,
                         const std::string& why);

}  // namespace acid

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

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

/// `ending`: of the process that executed the run, or of its launcher; `run`: as it is recorded
/// now; `attempts_before`: how many attempts the run had when that process was started; `launched`:
/// whether a launcher started it; `outlived`: whether this process ended the launcher because it
/// went on after the end of its attempt.
Death death_of(const Supervisor::Ending& ending, const RunDetail& run, std::size_t attempts_before,
               bool launched, bool outlived);

/// The end of what a worker printed, without its prefix and a launcher's remarks.
std::string last_words(std::string_view all);

}  // namespace acid

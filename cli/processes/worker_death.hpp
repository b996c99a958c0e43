#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cli/processes/supervisor.hpp"
#include "store/queries.hpp"

namespace acid {

/// How a worker process came to its end. Of a run under MPI the launcher tells it for one of them.
struct Death {
  std::string how;       // "acid-worker ended with SIGKILL"
  bool alone = false;    // nobody asked for it, and another attempt may succeed
  bool told = false;     // by the launcher, which knows more than the run's own processes
  int signal = 0;        // 0: none
  std::int64_t pid = 0;  // of the process that holds the run's lease; 0: there was none yet
};

/// `ending`: of the process that executed the run, or of the launcher of those that did; `run` as
/// it is recorded now; `attempts_before`: how many attempts it had when that process was started;
/// `launched`: by a launcher; `outlived`: we ended the launcher, which went on when that attempt
/// had ended.
Death death_of(const Supervisor::Ending& ending, const RunDetail& run, std::size_t attempts_before,
               bool launched, bool outlived);

/// The end of what a worker printed, without its prefix and a launcher's remarks.
std::string last_words(std::string_view all);

}  // namespace acid

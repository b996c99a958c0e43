#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "cli/processes/supervisor.hpp"
#include "cli/processes/worker_death.hpp"

namespace acid {

/// What an Executor knows of a run that it has started a worker process for.
struct StartedRun {
  /// A process for it is about to be started; `attempts_now`: that it has.
  void start(std::size_t attempts_now);
  /// The whole lines that its process has said so far, as last_words(); new_words() leaves them out
  /// from now on.
  std::string first_words(const std::string& output);
  /// Of all that its process wrote what was not passed on yet, as last_words().
  std::string new_words(const std::string& output) const;

  int times = 0;                      // that it was started
  int losses = 0;                     // how often its process died
  std::size_t attempts_at_first = 0;  // that it had before it was started the first time
  // Since it was started the last time.
  struct Lost {
    Supervisor::Ending ending;
    Death death;
  };
  std::size_t attempts = 0;     // that it had before
  bool launched = false;        // by a launcher
  double begins_by = 0;         // on the executor's clock: a launcher's patience ends then
  int max_restarts = 0;         // how often it may be started again
  bool begun = false;           // an attempt, and that was announced
  bool awaited = false;         // what its processes wait for was said
  std::optional<double> ended;  // when its attempt was seen to have ended
  bool outlived = false;        // by its launcher, which was told to end
  bool overdue = false;         // nothing of it had begun by then, so its launcher was told to end
  std::optional<Lost> lost;     // its process, while its lease seems to live
  std::string said;             // the beginning of its output, which was passed on
};

}  // namespace acid

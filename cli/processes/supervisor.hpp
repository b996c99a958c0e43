#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/processes/child.hpp"
#include "engine/base/clock.hpp"

namespace acid {

/// Runs worker processes side by side and passes on the user's request to stop: SIGINT, SIGTERM,
/// SIGHUP or SIGXCPU becomes its command's stop_signal for every worker; a SIGINT after that
/// becomes SIGKILL. A stop_signal other than SIGTERM is repeated every second: a launcher loses
/// signals that come before its processes run. SIGHUP counts only if it was not ignored at the
/// start, as under nohup. SIGPIPE does not count: a progress line without a reader is no reason to
/// stop. While it lives, these signals and SIGCHLD are blocked in this thread and read from a
/// descriptor, so that waiting needs no handler and never spins. After an interrupt a further
/// signal ends the process with that exit code, also when this object is gone. One at a time per
/// process; use from one thread.
class Supervisor {
 public:
  Supervisor();
  ~Supervisor();  // kills workers that still run
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  /// `name` identifies the worker in running() and wait(). Throws Error when it cannot be started.
  void start(const std::string& name, const Command& command,
             Child::Output output = Child::Output::last_words);
  std::vector<std::string> running() const;

  struct Ending {
    std::string name;
    pid_t pid = 0;
    int status = 0;      // as waitpid gives it
    std::string output;  // the kept part of its output
  };
  /// Waits until a worker ends, a signal arrives, or the timeout (−1: none) has passed.
  std::vector<Ending> wait(int timeout_milliseconds);

  /// The kept part of a running worker's output so far.
  const std::string& output(const std::string& name) const { return children_.at(name).output(); }
  /// Sends a signal to a running worker and to all of its process group.
  void signal_all(const std::string& name, int number);
  /// Asks every worker to stop.
  void stop();
  /// As stop(), and waits until all have ended, at most this long. Signals are handled meanwhile.
  void stop_and_wait(double seconds);
  /// Whether a signal, or stop(), has asked to stop.
  bool stopping() const { return stopping_; }
  /// Whether a signal has asked to stop.
  bool interrupted() const { return interrupted_; }

 private:
  void read_signals();
  void end_what_is_alone();
  void ask_again();

  std::map<std::string, Child> children_;
  const bool hangup_counts_;
  const SteadyClock clock_;
  double asked_ = 0;  // when stop() asked the workers last
  int signals_ = -1;
  bool stopping_ = false;
  bool interrupted_ = false;
};

}  // namespace acid

#pragma once

#include <list>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/processes/child.hpp"
#include "engine/base/clock.hpp"
#include "engine/base/error.hpp"

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
  /// Gives a worker that waits for more work this message, and calls it `name` from now on. False:
  /// none waits.
  bool hand_on(const std::string& name, const std::string& message);
  /// Lets the workers that wait for more work end.
  void dismiss_waiting();
  /// Those that work; others wait for more, or are about to end.
  std::vector<std::string> running() const;
  /// Whether every worker has ended.
  bool empty() const { return children_.empty() && waiting_.empty(); }

  struct Ending {
    std::string name;
    pid_t pid = 0;
    int status = 0;      // as waitpid gives it, or would if it did not wait for more work
    std::string output;  // the kept part of its output
    /// Its exit code; nothing where a signal ended it.
    std::optional<Exit> exit() const;
  };
  /// Waits until a worker ends or has done its work, a signal arrives, or the timeout (−1: none)
  /// has passed. A worker that takes more work says with a message that it has done what it had:
  /// the exit code with which it would end.
  std::vector<Ending> wait(int timeout_milliseconds);
  /// Starts a worker beside which no other runs, and waits until it has ended.
  Ending run(const std::string& name, const Command& command, Child::Output output);

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

  /// All of them.
  template <class Visit>
  void for_each_child(const Visit& visit);

  std::map<std::string, Child> children_;
  std::list<Child> waiting_;  // for more work, or for the end
  const bool hangup_counts_;
  const SteadyClock clock_;
  double asked_ = 0;  // when stop() asked the workers last
  int signals_ = -1;
  bool stopping_ = false;
  bool interrupted_ = false;
};

}  // namespace acid

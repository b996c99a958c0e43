#pragma once

#include <sys/types.h>

#include <csignal>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/descriptor.hpp"

namespace acid {

/// A program to be started.
struct Command {
  Command(std::vector<std::string> words) : arguments(std::move(words)) {}
  Command(std::initializer_list<std::string> words) : arguments(words) {}
  std::vector<std::string> arguments;    // the first is the program
  std::vector<std::string> environment;  // "NAME=VALUE": added to ours, or in place of ours
  int stop_signal = SIGTERM;             // asks the program to stop in good order
  bool outlived_by_children = true;      // false: it is useless without child processes
  bool takes_more = false;               // its descriptor kMoreRuns is a socket, see Child::tell()
};

/// A child process in a process group of its own (a terminal's ^C does not reach it), with
/// /dev/null as its standard input. Its environment is that of this
/// process, what the command adds, and ACID_PARENT_PID, the id of this process. The destructor
/// kills and reaps the child if it still runs. Use from one thread.
class Child {
 public:
  enum class Output {
    last_words,  // standard output and error together are kept, the last 64 KiB of them
    data,        // standard output is kept, all of it; standard error is this program's
  };
  /// Throws Error naming the program and what to do when it cannot be started.
  explicit Child(const Command& command, Output output = Output::last_words);
  ~Child();
  Child(Child&& other) noexcept;
  Child& operator=(Child&&) = delete;

  pid_t pid() const { return pid_; }
  /// Readable when there is output, or when there will be none any more; −1 after that.
  int output_descriptor() const { return output_.get(); }
  /// Reads what there is without blocking.
  void read_output();
  /// The kept part of the process's output.
  const std::string& output() const { return text_; }
  /// The same; what comes from now on is kept apart from it.
  std::string take_output() { return std::exchange(text_, {}); }

  /// Readable when a process that takes more work has said something; −1 for other processes, and
  /// after hang_up().
  int channel() const { return channel_.get(); }
  /// The next message that the process has sent there, if there is one.
  std::optional<std::string> heard();
  /// Sends the process a message there. False: it cannot hear it.
  bool tell(const std::string& message);
  /// The process will hear nothing more: it finds the other end closed.
  void hang_up() { channel_.close(); }

  /// Sends a signal, unless the process has ended.
  void signal(int number);
  /// Sends a signal to the whole process group: a launcher may be a script that waits for another
  /// program.
  void signal_all(int number);
  /// The command's stop_signal.
  int stop_signal() const { return stop_signal_; }
  /// For how long a process that is useless without children has had none, at `now` on the caller's
  /// clock: Open MPI's launcher sometimes misses the end of its processes. Until the process has
  /// had children, a thirtieth of that time: on a busy host it takes long to start them.
  double seconds_alone(double now);
  /// The status as waitpid gives it, once the process has ended. Never blocks.
  std::optional<int> status();
  /// Processor time of the process and of all processes that it waited for; 0 until it has ended.
  double cpu_seconds() const { return cpu_seconds_; }

 private:
  Output kept_;
  int stop_signal_;
  bool outlived_by_children_;
  bool had_children_ = false;
  double accompanied_ = -1;  // when it last had children, or was first looked at; −1: never
  pid_t pid_ = -1;
  Descriptor output_;
  Descriptor channel_;  // this end of the process's kMoreRuns
  std::string text_;
  std::optional<int> status_;
  double cpu_seconds_ = 0;
};

struct Captured {
  bool ran = false;        // started, ended in time, and exited with code 0
  std::string output;      // standard output and error
  double cpu_seconds = 0;  // of the program and of all processes that it waited for
};
/// Runs a program to its end, or kills it after `timeout_seconds`. A program that is not installed
/// is no error: then `ran` is false.
Captured capture(const std::vector<std::string>& arguments, double timeout_seconds,
                 const std::vector<std::string>& environment = {});
/// The path of the program that the shell starts for this name; empty: there is none.
std::string find_program(const std::string& name);

/// "SIGKILL", or "signal 35" for one without a name.
std::string signal_text(int number);
/// "exit code 1" or "SIGKILL" from waitpid's status.
std::string status_text(int status);

/// The path of acid-worker: $ACID_WORKER, else beside this program. Throws Error when it is not
/// there.
std::string worker_program();

}  // namespace acid

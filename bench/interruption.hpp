#pragma once

#include <pthread.h>

#include <atomic>
#include <csignal>
#include <exception>
#include <thread>

namespace acid::bench {

/// Thrown when a measurement ends early on request. It is not an Error, after which a command goes
/// on without the part that cannot be measured.
class Interrupted final : public std::exception {
 public:
  const char* what() const noexcept override { return "interrupted"; }
};

/// Throws Interrupted when SIGINT, SIGTERM or SIGHUP came. Call it between two sides of a round,
/// and at every wait. Any thread.
void throw_if_interrupted();

/// While it lives, none of the three signals ends this process: the first one makes
/// throw_if_interrupted() throw, and asks every child process to end, also children that are
/// started later, so that a wait for a child ends. The measurement then unwinds and removes its
/// processes and folders. A signal that was ignored at the construction, as under nohup, stays
/// ignored. Construct one, before any other thread, so that all threads inherit the blocked
/// signals.
class Interruption {
 public:
  Interruption();
  ~Interruption();
  Interruption(const Interruption&) = delete;
  Interruption& operator=(const Interruption&) = delete;

 private:
  void watch();
  sigset_t signals_;
  std::atomic<bool> ending_{false};
  std::thread thread_;
};

}  // namespace acid::bench

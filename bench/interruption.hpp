#pragma once

#include <pthread.h>

#include <atomic>
#include <csignal>
#include <exception>
#include <thread>

namespace acid::bench {

/// Thrown where a measurement ends early because it was asked to. Not an Error, which a command may
/// take for something that cannot be measured here and go on.
class Interrupted final : public std::exception {
 public:
  const char* what() const noexcept override { return "interrupted"; }
};

/// Whether SIGINT, SIGTERM or SIGHUP came. Any thread.
bool interrupted();
/// Throws Interrupted when one came. Between two sides of a round, and wherever something is waited
/// for.
void throw_if_interrupted();

/// While it lives, none of the three signals ends this process: the first sets interrupted() and
/// asks every child process to end, those started later too, so that a wait for one comes to its
/// end. What is measured unwinds then and takes its processes and folders along. A signal that was
/// ignored when this was made, as under nohup, stays ignored. Construct one, before any other
/// thread, so that all inherit the blocked signals.
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

#pragma once

#include <algorithm>
#include <cstddef>
#include <thread>
#include <vector>

#include "engine/base/mutex.hpp"
#include "engine/worker/worker_settings.hpp"

namespace acid {

/// Threads that help one thread with passes over long vectors and sleep between passes. They start
/// when first needed and end with the team. Only the owning thread calls run().
class Team {
 public:
  Team() = default;
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;
  ~Team();

  /// Calls pass(first, size) once for each of the parts that cover [0, size), on at most `threads`
  /// threads including the caller, and returns when all are done. The caller does the parts that no
  /// other has begun, so it never waits for a thread to start. `pass` must not throw. Throws
  /// std::system_error, before any part, if the system refuses a thread.
  template <class Pass>
  void run(int threads, std::size_t size, const Pass& pass) {
    const std::size_t parts = std::min(static_cast<std::size_t>(threads), size / kLeastPart);
    if (parts < 2) return pass(std::size_t{0}, size);
    run_task({.call =
                  [](const void* erased, std::size_t first, std::size_t part_size) {
                    (*static_cast<const Pass*>(erased))(first, part_size);
                  },
              .pass = &pass,
              .size = size,
              .parts = parts});
  }

  /// Shorter parts, in elements, are not worth waking a thread for.
  static constexpr std::size_t kLeastPart = 1 << 16;

 private:
  struct Task {
    void (*call)(const void* pass, std::size_t first, std::size_t size) = nullptr;
    const void* pass = nullptr;
    std::size_t size = 0, parts = 0;
    void run_part(std::size_t part) const;
  };

  void run_task(const Task& task) EXCLUDES_LOCK(mutex_);
  void help() EXCLUDES_LOCK(mutex_);
  /// Runs the next part that no thread has begun, if there is one.
  bool run_next_part() REQUIRES_LOCK(mutex_);

  std::vector<std::thread> helpers_;  // owner thread only
  Mutex mutex_;
  Condition begun_, done_;
  Task task_ GUARDED_BY(mutex_);
  std::size_t next_part_ GUARDED_BY(mutex_) = 0;
  std::size_t unfinished_ GUARDED_BY(mutex_) = 0;  // parts
  bool closing_ GUARDED_BY(mutex_) = false;
};

/// The calling thread's own team, which ends with the thread: n workers with t threads each have
/// n·t in all, and no worker waits for another's team.
Team& team_of_this_thread();

/// Splits one pass over vectors of `size` elements among the threads of a worker.
template <class Pass>
void in_parts(const WorkerSettings& settings, std::size_t size, const Pass& pass) {
  if (settings.threads == 1 || !settings.backend->is_host_memory())
    pass(std::size_t{0}, size);
  else
    team_of_this_thread().run(settings.threads, size, pass);
}

}  // namespace acid

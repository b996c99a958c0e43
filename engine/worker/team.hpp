#pragma once

#include <algorithm>
#include <cstddef>
#include <thread>
#include <vector>

#include "engine/base/mutex.hpp"

namespace acid {

/// Threads that help one thread with passes over long vectors; between passes they sleep. They are
/// made when first needed and end with the team.
///
/// run() is for the thread that owns the team, one call at a time.
class Team {
 public:
  Team() = default;
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;
  ~Team();

  /// Calls pass(first, size) for parts that cover [0, size), each once, on at most `threads`
  /// threads of which the calling one is the first, and returns when all are done. It does what the
  /// others have not begun, so it waits for no thread to begin. `pass` must not throw. Throws
  /// std::system_error, before any part, when the system refuses another thread.
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
  /// Runs the next part, if there is one that nobody has begun.
  bool run_next_part() REQUIRES_LOCK(mutex_);

  std::vector<std::thread> helpers_;  // owner thread only
  Mutex mutex_;
  Condition begun_, done_;
  Task task_ GUARDED_BY(mutex_);
  std::size_t next_part_ GUARDED_BY(mutex_) = 0;
  std::size_t unfinished_ GUARDED_BY(mutex_) = 0;  // parts
  bool closing_ GUARDED_BY(mutex_) = false;
};

/// The calling thread's own, which ends with it: so n workers on n threads with t threads each have
/// n·t in all, and none of them ever waits for another's.
Team& team_of_this_thread();

}  // namespace acid

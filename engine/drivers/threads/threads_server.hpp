#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/base/mutex.hpp"
#include "engine/drivers/shared/rounds.hpp"
#include "engine/drivers/threads/locked_workers.hpp"

namespace acid {

/// The servers of a run on threads, and how far its workers are in the method's round. What a
/// worker does between two gradients its thread does at once, at one normalised time, under the
/// worker's mutex; what it says there its server hears and answers before the thread goes on, and a
/// hub that visits the one above is back by then.
///
/// Of mutexes_ one guards each server, with its counts and what it says and hears above, and the
/// last the one above. They come after the workers' mutexes, that of the one above after the
/// others: under all of the workers' nobody is at a server. An arrival gets its number under the
/// mutexes of all servers that it changes, so every server has heard its own in the order of their
/// numbers.
class ThreadsServer {
 public:
  /// A gradient that has been computed and counted.
  struct Done {
    Position here;  // right after it
    double loss = 0;
    double started = 0;  // when it began to be computed, by LockedWorkers::seconds()
  };

  /// All outlive it.
  ThreadsServer(const RunSpec& spec, LockedWorkers& workers);

  // Whoever holds the mutex of worker w.
  /// Before its first gradient: until that has begun. False where the run has none left.
  bool begin(int w);
  /// Until its next gradient has begun or, where this was one of the run's last, to the leg's end.
  /// False where the loss is not finite.
  bool go_on(int w, const Done& done);

  // Whoever holds all mutexes, or is the only thread there is.
  template <class Archive>
  void persist(Archive& archive) {
    archive(walks_);
  }

 private:
  struct Walk {
    RoundPlace place;
    std::int64_t arrival = 0;  // the number of its last message at any server, from 1
    double learning_rate = 0;  // of its last gradient
    template <class Archive>
    void persist(Archive& archive) {
      archive(place, arrival, learning_rate);
    }
  };
  bool walk_on(int w, double t, const Done* done);
  bool step(int w, const Done& done, std::int64_t staleness);
  void say(int w, double t);
  void call(int w, int caller, double t, double since);
  void hear(int w, double t);
  ServerMessages& messages() { return workers_.ensemble().servers().messages(); }

  const RunSpec& spec_;
  LockedWorkers& workers_;
  std::vector<Walk> walks_;  // worker i's: guarded by its mutex
  std::unique_ptr<Mutex[]> mutexes_;
};

}  // namespace acid

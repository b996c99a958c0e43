#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/base/mutex.hpp"
#include "engine/drivers/shared/rounds.hpp"
#include "engine/drivers/threads/locked_workers.hpp"

namespace acid {

/// The servers of a run on threads, and how far its workers are in the method's round. A worker's
/// thread does all between two gradients at once, at one normalised time, under the worker's mutex:
/// its server hears and answers before the thread goes on, and a hub that visits the server above
/// is back by then.
///
/// mutexes_ has one mutex per server, for its counts and its messages to and from the server above,
/// and a last one for the server above. The order of locks: the workers' mutexes, the servers', the
/// last one; so a thread that holds all workers' mutexes knows that no worker is at a server. An
/// arrival gets its number under the mutexes of all servers that it changes, so every server hears
/// its messages in the order of their numbers.
class ThreadsServer {
 public:
  /// A gradient that has been computed and counted.
  struct Done {
    Position here;  // right after the gradient
    double loss = 0;
    double started = 0;  // when its computation began, by LockedWorkers::seconds()
  };

  /// The arguments outlive this.
  ThreadsServer(const RunSpec& spec, LockedWorkers& workers);

  // The caller holds the mutex of worker w.
  /// Walks to the worker's first gradient and begins it. Returns false if the run has none left.
  bool begin(int w);
  /// Walks until the worker's next gradient has begun or, after one of the run's last, to the leg's
  /// end. Returns false if the loss is not finite.
  bool go_on(int w, const Done& done);

  // The caller holds all mutexes, or is the only thread.
  template <class Archive>
  void persist(Archive& archive) {
    archive(walks_);
  }

 private:
  struct Walk {
    RoundPlace place;
    std::int64_t arrival = 0;  // number of the worker's last message at any server, from 1
    double learning_rate = 0;  // of the worker's last gradient; before it of its first
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

#pragma once

#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "engine/base/mutex.hpp"
#include "engine/models/model.hpp"

namespace acid {

/// The memory of one batch.
struct Minibatch {
  std::vector<float> features;
  std::vector<std::int64_t> labels;
  Batch batch() const { return {features, labels}; }
};

/// Gathers minibatches ahead, on a thread of its own: while a worker computes the gradient of one
/// minibatch, the next one is copied together. Holds one minibatch per worker. Useful when a core
/// is idle; the content does not depend on it. Any number of threads may take at once.
class Prefetcher {
 public:
  /// Makes `out` the minibatch `step` of `worker`. Called by the prefetcher's thread and by the
  /// taking threads, at once for different `out`.
  using Gather = std::function<void(int worker, std::int64_t step, Minibatch& out)>;
  Prefetcher(int workers, Gather gather);
  ~Prefetcher();
  Prefetcher(const Prefetcher&) = delete;
  Prefetcher& operator=(const Prefetcher&) = delete;

  /// Makes `out` the minibatch `step` of `worker`, and has the next one gathered. A minibatch that
  /// was not begun ahead, or failed, is gathered by the calling thread, which gets the exception of
  /// `gather`; for one that is being gathered the call waits.
  void take(int worker, std::int64_t step, Minibatch& out);

 private:
  enum class State { idle, wanted, gathering, ready };
  struct Slot {
    State state = State::idle;
    std::int64_t step = 0;  // of the minibatch wanted, gathering or ready
    Minibatch minibatch;    // while gathering, it belongs to the prefetcher's thread
  };
  void run();
  Slot* first_wanted() REQUIRES_LOCK(mutex_);

  const Gather gather_;
  Mutex mutex_;
  Condition wanted_, gathered_;
  std::vector<Slot> slots_ GUARDED_BY(mutex_);  // one per worker
  std::size_t turn_ GUARDED_BY(mutex_) = 0;     // the slot to look at first
  bool stopping_ GUARDED_BY(mutex_) = false;
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace acid

#pragma once

#include <cstdint>
#include <memory>

#include "engine/base/mutex.hpp"

namespace acid {

/// How many messages each worker has said, or heard. Any thread.
class Said {
 public:
  /// Each worker has said `before` messages already.
  Said(int workers, std::int64_t before);

  /// Worker w has said its next message, which may be read from now on.
  void say(int w);
  /// Sleeps until worker w has said `count` messages. Returns false if it never will.
  bool wait_for(int w, std::int64_t count);
  /// No worker says anything any more; wakes all waiting threads.
  void abort();

 private:
  /// One worker's part, on a cache line of its own.
  struct alignas(64) Own {
    Mutex mutex;
    Condition changed;
    std::int64_t messages GUARDED_BY(mutex) = 0;
    bool aborted GUARDED_BY(mutex) = false;
  };

  const int workers_;
  const std::unique_ptr<Own[]> own_;
};

}  // namespace acid

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/base/mutex.hpp"
#include "engine/transport/device_link.hpp"

namespace acid::test {

/// Links between threads that stand for processes. A swap ends for both at once, after both have
/// begun it; even then every second question whether it has ended is answered "no".
class FakeLinks {
 public:
  explicit FakeLinks(int size);
  ~FakeLinks();
  DeviceLink& at(int rank);
  /// From now on this rank's done() throws.
  void fail(int rank) EXCLUDES_LOCK(mutex_);
  int swaps() const EXCLUDES_LOCK(mutex_);
  int aborts() const EXCLUDES_LOCK(mutex_);
  /// The first memory given to swap() that is not on the device; "" so far.
  std::string complaint() const EXCLUDES_LOCK(mutex_);

 private:
  class Link;
  struct End {
    bool swapping = false, arrived = false, fails = false, asked = false;
    int peer = 0;
    std::span<const float> own;
    std::span<float> partner;
  };
  mutable Mutex mutex_;
  std::vector<End> ends_ GUARDED_BY(mutex_);
  int swaps_ GUARDED_BY(mutex_) = 0, aborts_ GUARDED_BY(mutex_) = 0;
  std::string complaint_ GUARDED_BY(mutex_);
  std::vector<std::unique_ptr<Link>> links_;  // immutable
};

}  // namespace acid::test

#pragma once

#include <condition_variable>
#include <mutex>

// Clang's thread-safety attributes; they vanish under other compilers.
#if defined(__clang__)
#define ACID_THREAD_ATTRIBUTE(x) __attribute__((x))
#else
#define ACID_THREAD_ATTRIBUTE(x)
#endif
#define GUARDED_BY(m) ACID_THREAD_ATTRIBUTE(guarded_by(m))
#define REQUIRES_LOCK(...) ACID_THREAD_ATTRIBUTE(requires_capability(__VA_ARGS__))
#define EXCLUDES_LOCK(...) ACID_THREAD_ATTRIBUTE(locks_excluded(__VA_ARGS__))
#define ASSERTS_LOCK(...) ACID_THREAD_ATTRIBUTE(assert_capability(__VA_ARGS__))
#define NO_LOCK_ANALYSIS ACID_THREAD_ATTRIBUTE(no_thread_safety_analysis)

namespace acid {

/// std::mutex that clang's analysis can follow (libstdc++'s own is not annotated).
class ACID_THREAD_ATTRIBUTE(capability("mutex")) Mutex {
 public:
  void lock() ACID_THREAD_ATTRIBUTE(acquire_capability()) { mutex_.lock(); }
  void unlock() ACID_THREAD_ATTRIBUTE(release_capability()) { mutex_.unlock(); }
  bool try_lock() ACID_THREAD_ATTRIBUTE(try_acquire_capability(true)) { return mutex_.try_lock(); }

 private:
  friend class Condition;
  std::mutex mutex_;
};

class ACID_THREAD_ATTRIBUTE(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& m) ACID_THREAD_ATTRIBUTE(acquire_capability(m)) : mutex_(m) {
    mutex_.lock();
  }
  ~MutexLock() ACID_THREAD_ATTRIBUTE(release_capability()) { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

/// Condition variable over Mutex. wait() sleeps in the kernel; callers re-check their predicate.
class Condition {
 public:
  void wait(Mutex& m) ACID_THREAD_ATTRIBUTE(requires_capability(m)) {
    std::unique_lock<std::mutex> lock(m.mutex_, std::adopt_lock);
    condition_.wait(lock);
    lock.release();
  }
  /// Returns false when `seconds` passed first.
  bool wait_for(Mutex& m, double seconds) ACID_THREAD_ATTRIBUTE(requires_capability(m)) {
    std::unique_lock<std::mutex> lock(m.mutex_, std::adopt_lock);
    const auto status = condition_.wait_for(lock, std::chrono::duration<double>(seconds));
    lock.release();
    return status == std::cv_status::no_timeout;
  }
  void notify_one() { condition_.notify_one(); }
  void notify_all() { condition_.notify_all(); }

 private:
  std::condition_variable condition_;
};

}  // namespace acid

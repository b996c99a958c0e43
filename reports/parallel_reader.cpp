#include "reports/parallel_reader.hpp"

#include <algorithm>
#include <exception>
#include <string>
#include <thread>
#include <vector>

#include "engine/base/mutex.hpp"

namespace acid {
namespace {

using Job = std::function<void(const Store&, std::size_t)>;

/// Jobs taken by threads in order.
class JobQueue {
 public:
  JobQueue(std::size_t count, int threads) : count_(count), running_(threads) {}

  /// Runs on each thread until nothing is left to begin.
  void work(const std::string& folder, const Job& job) {
    std::size_t k = 0;
    try {
      const Store store(folder, Store::Access::read);
      while (take(k)) {
        job(store, k);
        finished();
      }
    } catch (...) {
      failed(k, std::current_exception());
    }
    leave();
  }

  /// Waits until more than `seen` jobs are done or no thread is left. Returns how many are done.
  std::size_t wait(std::size_t seen) {
    const MutexLock lock(mutex_);
    while (done_ <= seen && running_ > 0) changed_.wait(mutex_);
    return done_;
  }

  void rethrow() {
    const MutexLock lock(mutex_);
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  bool take(std::size_t& k) {
    const MutexLock lock(mutex_);
    if (failure_ || next_ == count_) return false;
    k = next_++;
    return true;
  }
  void finished() {
    const MutexLock lock(mutex_);
    ++done_;
    changed_.notify_all();
  }
  void failed(std::size_t k, std::exception_ptr failure) {
    const MutexLock lock(mutex_);
    if (failure_ && failed_job_ <= k) return;
    failure_ = std::move(failure);
    failed_job_ = k;
  }
  void leave() {
    const MutexLock lock(mutex_);
    --running_;
    changed_.notify_all();
  }

  const std::size_t count_;
  Mutex mutex_;
  Condition changed_;
  std::size_t next_ GUARDED_BY(mutex_) = 0;
  std::size_t done_ GUARDED_BY(mutex_) = 0;
  int running_ GUARDED_BY(mutex_);  // threads
  std::exception_ptr failure_ GUARDED_BY(mutex_);
  std::size_t failed_job_ GUARDED_BY(mutex_) = 0;
};

}  // namespace

void read_in_parallel(const Store& store, std::size_t count, int threads, const Job& job,
                      const std::function<void(std::size_t, std::size_t)>& progress) {
  if (threads == 0) threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  threads = static_cast<int>(std::min(static_cast<std::size_t>(threads), count));
  if (threads <= 1) {
    for (std::size_t k = 0; k < count; ++k) {
      job(store, k);
      if (progress) progress(k + 1, count);
    }
    return;
  }
  JobQueue queue(count, threads);
  std::vector<std::jthread> readers;
  for (int t = 0; t < threads; ++t) readers.emplace_back([&] { queue.work(store.folder(), job); });
  for (std::size_t done = 0; done < count;) {
    const std::size_t now = queue.wait(done);
    if (now == done) break;
    done = now;
    if (progress) progress(done, count);
  }
  readers.clear();
  queue.rethrow();
}

}  // namespace acid

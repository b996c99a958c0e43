#include "engine/base/thread_group.hpp"

namespace acid {

ThreadGroup::~ThreadGroup() {
  for (std::thread& thread : threads_)
    if (thread.joinable()) thread.join();
}

void ThreadGroup::start(std::function<void()> body) {
  const auto guarded = [this, body = std::move(body)] {
    try {
      body();
    } catch (...) {
      {
        MutexLock lock(mutex_);
        if (!failure_) failure_ = std::current_exception();
      }
      on_failure_();
    }
  };
  try {
    threads_.emplace_back(guarded);
  } catch (...) {
    on_failure_();  // the started threads may wait for this one
    throw;
  }
}

void ThreadGroup::join() {
  for (std::thread& thread : threads_)
    if (thread.joinable()) thread.join();
  MutexLock lock(mutex_);
  if (failure_) std::rethrow_exception(failure_);
}

}  // namespace acid

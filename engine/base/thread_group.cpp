#include "engine/base/thread_group.hpp"

namespace acid {

ThreadGroup::~ThreadGroup() {
  for (std::thread& thread : threads_)
    if (thread.joinable()) thread.join();
}

void ThreadGroup::guard(const std::function<void()>& body) {
  try {
    body();
  } catch (...) {
    {
      MutexLock lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
    }
    on_failure_();
  }
}

void ThreadGroup::start(std::function<void()> body) {
  try {
    threads_.emplace_back([this, body = std::move(body)] { guard(body); });
  } catch (...) {
    on_failure_();  // the started threads may wait for this one
    throw;
  }
}

void ThreadGroup::join_after(const std::function<void()>& body) {
  guard(body);
  join();
}

void ThreadGroup::join() {
  for (std::thread& thread : threads_)
    if (thread.joinable()) thread.join();
  MutexLock lock(mutex_);
  if (failure_) std::rethrow_exception(failure_);
}

}  // namespace acid

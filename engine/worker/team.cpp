#include "engine/worker/team.hpp"

namespace acid {

Team::~Team() {
  {
    MutexLock lock(mutex_);
    closing_ = true;
  }
  begun_.notify_all();
  for (std::thread& helper : helpers_) helper.join();
}

// Parts begin at multiples of a block, so that no two threads write to one cache line.
void Team::Task::run_part(std::size_t part) const {
  constexpr std::size_t kBlock = 1024;
  const std::size_t blocks = (size + kBlock - 1) / kBlock;
  const std::size_t first = blocks * part / parts * kBlock;
  const std::size_t last = std::min(size, blocks * (part + 1) / parts * kBlock);
  call(pass, first, last - first);
}

void Team::run_task(const Task& task) {
  while (helpers_.size() + 1 < task.parts) helpers_.emplace_back([this] { help(); });
  MutexLock lock(mutex_);
  task_ = task;
  next_part_ = 0;
  unfinished_ = task.parts;
  begun_.notify_all();
  while (run_next_part()) {
  }
  while (unfinished_ > 0) done_.wait(mutex_);
}

void Team::help() {
  MutexLock lock(mutex_);
  while (!closing_)
    if (!run_next_part()) begun_.wait(mutex_);
}

bool Team::run_next_part() {
  if (next_part_ == task_.parts) return false;
  const Task task = task_;
  const std::size_t part = next_part_++;
  mutex_.unlock();
  task.run_part(part);
  mutex_.lock();
  if (--unfinished_ == 0) done_.notify_one();
  return true;
}

Team& team_of_this_thread() {
  thread_local Team team;
  return team;
}

}  // namespace acid

// How an asynchronous run on threads is saved while nothing happens, and goes on from there.
#include "engine/drivers/threads/meetings.hpp"

namespace acid {

template <class Archive>
void ThreadsAsync::persist(Archive& archive) {
  std::int64_t commits = commits_.load(), exchanges = exchanges_.load();
  double seconds = run_.clock.seconds() - started_seconds_;
  archive(ensemble_, log_, commits, exchanges, seconds, schedule_, matchmaker_, edges_, holds_,
          sampler_);
  for (int w = 0; w < spec_.workers; ++w)
    archive(slot(w).notes, slot(w).idle_seconds, slot(w).computing);
  if constexpr (Archive::kReads) {
    commits_.store(commits);
    exchanges_.store(exchanges);
    started_seconds_ -= seconds;
  }
}

void ThreadsAsync::resume(const CheckpointFile& file) {
  load_state(file, kLayout, *this);
  ensemble_.restore(file);
}

void ThreadsAsync::lock_workers() {
  for (int w = 0; w < spec_.workers; ++w) slot(w).mutex.lock();
}

void ThreadsAsync::unlock_workers() {
  for (int w = spec_.workers - 1; w >= 0; --w) slot(w).mutex.unlock();
}

// No exchange starts meanwhile, and those in flight come to their end first. A worker that commits
// a gradient waits until the cut is over, so that all of them are soon locked.
void ThreadsAsync::save_cut() {
  if (!finish_exchanges()) return;  // somebody failed, and the run ends with that
  lock_workers();
  try {
    save_paused();
  } catch (...) {
    unlock_workers();
    resume_exchanges();
    throw;
  }
  unlock_workers();
  resume_exchanges();
  MutexLock lock(matching_);
  execute_ready();  // a thread that wanted to start one meanwhile may be asleep
}

bool ThreadsAsync::finish_exchanges() {
  MutexLock lock(matching_);
  pausing_ = true;
  while (in_flight_ > 0 && !exchanging_over_) paused_.wait(matching_);
  pausing_ = in_flight_ == 0;
  if (!pausing_) paused_.notify_all();
  return pausing_;
}

void ThreadsAsync::resume_exchanges() {
  MutexLock lock(matching_);
  pausing_ = false;
  paused_.notify_all();
}

void ThreadsAsync::save_paused() {
  MutexLock lock(matching_);
  const Position here = position(commits_.load());
  log_.mark(EventKind::checkpoint, here.normalised_time, ensemble_);
  log_.flush();
  run_.checkpointing.save(here.gradients, here, ensemble_.vectors(), kLayout, *this);
}

}  // namespace acid

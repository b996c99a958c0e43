#include "engine/models/prefetcher.hpp"

#include <utility>

#include "engine/base/error.hpp"

namespace acid {

Prefetcher::Prefetcher(int workers, Gather gather)
    : gather_(std::move(gather)), slots_(static_cast<std::size_t>(workers)) {
  ACID_ASSERT(workers > 0, "{} workers", workers);
  thread_ = std::thread([this] { run(); });
}

Prefetcher::~Prefetcher() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  wanted_.notify_one();
  thread_.join();
}

void Prefetcher::take(int worker, std::int64_t step, Minibatch& out) {
  bool ready = false;
  {
    const MutexLock lock(mutex_);
    Slot& slot = slots_.at(static_cast<std::size_t>(worker));
    while (slot.state == State::gathering) gathered_.wait(mutex_);
    ready = slot.state == State::ready && slot.step == step;
    if (ready) std::swap(out, slot.minibatch);
    slot.state = State::wanted;
    slot.step = step + 1;
  }
  wanted_.notify_one();
  if (!ready) gather_(worker, step, out);
}

// Workers take turns, so that a fast worker does not starve the others.
Prefetcher::Slot* Prefetcher::first_wanted() {
  for (std::size_t k = 0; k < slots_.size(); ++k) {
    Slot& slot = slots_[(turn_ + k) % slots_.size()];
    if (slot.state != State::wanted) continue;
    turn_ = (turn_ + k + 1) % slots_.size();
    return &slot;
  }
  return nullptr;
}

void Prefetcher::run() {
  mutex_.lock();
  while (!stopping_) {
    Slot* slot = first_wanted();
    if (slot == nullptr) {
      wanted_.wait(mutex_);
      continue;
    }
    slot->state = State::gathering;
    const auto worker = static_cast<int>(slot - slots_.data());
    const std::int64_t step = slot->step;
    mutex_.unlock();
    bool complete = true;
    try {
      gather_(worker, step, slot->minibatch);
    } catch (...) {  // gather_ throws again in the thread that takes the minibatch
      complete = false;
    }
    mutex_.lock();
    slot->state = complete ? State::ready : State::idle;
    gathered_.notify_all();
  }
  mutex_.unlock();
}

}  // namespace acid

#include "engine/drivers/threads/said.hpp"

namespace acid {

Said::Said(int workers, std::int64_t before)
    : workers_(workers), own_(std::make_unique<Own[]>(static_cast<std::size_t>(workers))) {
  for (int w = 0; w < workers; ++w) {
    MutexLock lock(own_[static_cast<std::size_t>(w)].mutex);
    own_[static_cast<std::size_t>(w)].messages = before;
  }
}

void Said::say(int w) {
  Own& own = own_[static_cast<std::size_t>(w)];
  MutexLock lock(own.mutex);
  ++own.messages;
  own.changed.notify_all();
}

bool Said::wait_for(int w, std::int64_t count) {
  Own& own = own_[static_cast<std::size_t>(w)];
  MutexLock lock(own.mutex);
  while (own.messages < count && !own.aborted) own.changed.wait(own.mutex);
  return own.messages >= count;
}

void Said::abort() {
  for (int w = 0; w < workers_; ++w) {
    Own& own = own_[static_cast<std::size_t>(w)];
    MutexLock lock(own.mutex);
    own.aborted = true;
    own.changed.notify_all();
  }
}

}  // namespace acid

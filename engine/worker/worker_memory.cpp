#include "engine/worker/worker_memory.hpp"

#include <cstdint>

#include "engine/base/error.hpp"

namespace acid {

template <class T>
WorkerMemory<T>::WorkerMemory(const WorkerSettings& settings, std::size_t count,
                              std::span<T> shared) {
  const WorkerLayout<T> layout(settings);
  scalars_step_ = settings.scalars;
  scalars_.resize(count * scalars_step_);
  const std::size_t shared_bytes = layout.shared_size() * sizeof(T);
  if (!shared.empty()) {
    ACID_ASSERT(count == 1 && shared.size() == layout.shared_size(),
                "{} shared elements for {} workers", shared.size(), count);
    // Own vectors start at the page offset that they would have right after the shared ones.
    constexpr std::size_t kPage = WorkerLayout<T>::kPageBytes;
    block_ = Arena<std::byte>(kPage + layout.own_bytes(), *settings.backend);
    shared_ = shared.data();
    own_ = block_.data() + (reinterpret_cast<std::uintptr_t>(shared_) + shared_bytes -
                            reinterpret_cast<std::uintptr_t>(block_.data())) %
                               kPage;
    return;
  }
  const std::size_t bytes = shared_bytes + layout.own_bytes();
  block_ = Arena<std::byte>(count * bytes, *settings.backend);
  shared_ = reinterpret_cast<T*>(block_.data());
  const bool together = layout.is_long();
  own_ = block_.data() + (together ? shared_bytes : count * shared_bytes);
  shared_step_ = together ? bytes / sizeof(T) : layout.shared_size();
  own_step_ = together ? bytes : layout.own_bytes();
}

template class WorkerMemory<float>;
template class WorkerMemory<double>;

}  // namespace acid

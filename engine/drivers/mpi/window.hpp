#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "engine/run/run.hpp"
#include "engine/worker/worker.hpp"

namespace acid {

/// What lies in the window of a process (Transport::open_window), the same for all processes of a
/// run: the worker's own memory where partners may change it in place, then places for copies of
/// the worker, in which rank 0 reads samples without moving them. Sizes are in floats.
///
/// A place is free or taken. Its owner takes it, fills it and tells rank 0; rank 0 frees it.
class Window {
 public:
  Window(const RunSpec& spec, const WorkerSettings& settings)
      : dimension_(settings.dimension),
        buffers_(settings.buffer_size),
        worker_(spec.method.is_asynchronous() && spec.backend->is_host_memory()
                    ? Worker::shared_size(settings)
                    : 0),
        place_((dimension_ + buffers_ + kLine - 1) / kLine * kLine),
        places_(std::clamp<std::size_t>(kPlaceFloats / std::max<std::size_t>(1, place_), 1,
                                        kMostPlaces)) {}
  /// Of the whole window.
  std::size_t size() const { return worker_ + kLine * places_ + place_ * places_; }
  /// The worker's own memory; empty if the window is, or the worker is not in it.
  std::span<float> worker(std::span<float> window) const {
    return window.empty() ? window : window.first(worker_);
  }

  /// Rank 0 has said that it reads this process's window; any thread.
  void is_read() { read_.store(true); }
  /// Takes a free place; nothing if there is none, or rank 0 cannot read it. By one thread at a
  /// time.
  std::optional<int> take(std::span<float> window) const {
    if (window.empty() || !read_.load()) return std::nullopt;
    for (int place = 0; place < static_cast<int>(places_); ++place) {
      const std::atomic_ref taken(flag(window, place));
      if (taken.load(std::memory_order_acquire) != 0) continue;
      taken.store(1, std::memory_order_relaxed);
      return place;
    }
    return std::nullopt;
  }
  std::span<float> x(std::span<float> window, int place) const {
    return window.subspan(start(place), dimension_);
  }
  std::span<float> buffers(std::span<float> window, int place) const {
    return window.subspan(start(place) + dimension_, buffers_);
  }
  /// Frees a place after its last use, for the owner's next take(); any thread.
  void free(std::span<float> window, int place) const {
    std::atomic_ref(flag(window, place)).store(0, std::memory_order_release);
  }

 private:
  static constexpr std::size_t kLine = 16;  // floats of a cache line
  // Samples of small models may come quickly; of large ones each place costs as much as a vector.
  static constexpr std::size_t kPlaceFloats = std::size_t{8} << 20;  // 32 MiB for all places
  static constexpr std::size_t kMostPlaces = 8;
  std::size_t start(int place) const {
    return worker_ + kLine * places_ + place_ * static_cast<std::size_t>(place);
  }
  /// Not 0: the place is taken. Memory of a window is zeroed and begins with a page, so flags are
  /// aligned and free at first.
  std::uint32_t& flag(std::span<float> window, int place) const {
    static_assert(sizeof(std::uint32_t) == sizeof(float));
    const std::size_t at = worker_ + kLine * static_cast<std::size_t>(place);
    return *reinterpret_cast<std::uint32_t*>(window.data() + at);
  }

  std::size_t dimension_, buffers_;
  std::size_t worker_;
  std::size_t place_, places_;
  std::atomic<bool> read_{false};
};

}  // namespace acid

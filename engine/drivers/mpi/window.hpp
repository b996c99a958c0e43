#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "engine/run/run.hpp"
#include "engine/worker/worker_settings.hpp"

namespace acid {

/// What lies in the window of a process (Transport::open_window), the same for all processes of a
/// run: the worker's own memory where partners may change it in place, then places for copies of
/// the worker, in which rank 0 reads samples without moving them. Sizes are in floats.
///
/// A place is free or taken. Its owner takes it, fills it and tells rank 0; rank 0 frees it.
class Window {
 public:
  Window(const RunSpec& spec, const WorkerSettings& settings);
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
  std::optional<int> take(std::span<float> window) const;
  std::span<float> x(std::span<float> window, int place) const {
    return window.subspan(start(place), dimension_);
  }
  std::span<float> buffers(std::span<float> window, int place) const {
    return window.subspan(start(place) + dimension_, buffers_);
  }
  /// Frees a place after its last use, for the owner's next take(); any thread.
  void free(std::span<float> window, int place) const;

 private:
  static constexpr std::size_t kLine = 16;  // floats of a cache line
  std::size_t start(int place) const {
    return worker_ + kLine * places_ + place_ * static_cast<std::size_t>(place);
  }
  /// Not 0: the place is taken.
  std::uint32_t& flag(std::span<float> window, int place) const;

  std::size_t dimension_, buffers_;
  std::size_t worker_;
  std::size_t place_, places_;
  std::atomic<bool> read_{false};
};

}  // namespace acid

#include "engine/drivers/mpi/window.hpp"

#include <algorithm>
#include <atomic>

#include "engine/worker/worker.hpp"

namespace acid {
namespace {

// Samples of small models may come quickly; of large ones each place costs as much as a vector.
constexpr std::size_t kPlaceFloats = std::size_t{8} << 20;  // 32 MiB for all places
constexpr std::size_t kMostPlaces = 8;

}  // namespace

Window::Window(const RunSpec& spec, const WorkerSettings& settings)
    : dimension_(settings.dimension),
      buffers_(settings.buffer_size),
      worker_(spec.method.is_asynchronous() && spec.backend->is_host_memory()
                  ? Worker::shared_size(settings)
                  : 0),
      place_((dimension_ + buffers_ + kLine - 1) / kLine * kLine),
      places_(std::clamp<std::size_t>(kPlaceFloats / std::max<std::size_t>(1, place_), 1,
                                      kMostPlaces)) {}

// Memory of a window is zeroed and begins with a page, so flags are aligned and free at first.
std::uint32_t& Window::flag(std::span<float> window, int place) const {
  static_assert(sizeof(std::uint32_t) == sizeof(float));
  const std::size_t at = worker_ + kLine * static_cast<std::size_t>(place);
  return *reinterpret_cast<std::uint32_t*>(window.data() + at);
}

std::optional<int> Window::take(std::span<float> window) const {
  if (window.empty() || !read_.load()) return std::nullopt;
  for (int place = 0; place < static_cast<int>(places_); ++place) {
    const std::atomic_ref taken(flag(window, place));
    if (taken.load(std::memory_order_acquire) != 0) continue;
    taken.store(1, std::memory_order_relaxed);
    return place;
  }
  return std::nullopt;
}

void Window::free(std::span<float> window, int place) const {
  std::atomic_ref(flag(window, place)).store(0, std::memory_order_release);
}

}  // namespace acid

#include "tests/cuda/strict_backend.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <span>

#include "engine/worker/direction.hpp"

namespace acid::test {
namespace {

template <class T>
const kernels::Table<T>& real() {
  return cpu_backend().kernels<T>();
}

// Null stands for an absent vector.
template <class T, class... Vectors>
void require(const char* kernel, std::size_t size, const Vectors*... vectors) {
  strict_backend().count_call();
  const auto reachable = [&](const T* vector) {
    return vector == nullptr || strict_backend().reaches(vector, size * sizeof(T));
  };
  if (!(reachable(vectors) && ...)) strict_backend().complain(kernel);
}

template <class T>
void copy(const T* x, T* out, std::size_t size) {
  strict_backend().count_call();
  real<T>().copy(x, out, size);
}
template <class T>
void scale(const T* x, T weight, T* out, std::size_t size) {
  require<T>("scale", size, x, out);
  real<T>().scale(x, weight, out, size);
}
template <class T>
void weighted_mean(const kernels::Weighted<T>* vectors, std::size_t count, std::size_t first,
                   T* out, std::size_t size) {
  for (std::size_t i = 0; i < count; ++i)
    require<T>("weighted_mean", size, vectors[i].x + first, out);
  real<T>().weighted_mean(vectors, count, first, out, size);
}
template <class T>
void mean(const T* const* vectors, std::size_t count, std::size_t first, T* out, std::size_t size) {
  for (std::size_t i = 0; i < count; ++i) require<T>("mean", size, vectors[i] + first, out);
  real<T>().mean(vectors, count, first, out, size);
}

template <class T>
double norm(const T* x, std::size_t size) {
  require<T>("norm", size, x);
  return euclidean_norm(std::span(x, size));
}
// As said of kernels::SpreadSums.
template <class T>
void spread(const T* const* rows, std::size_t count, std::size_t size, kernels::SpreadSums* sums) {
  for (std::size_t i = 0; i < count; ++i) require<T>("spread", size, rows[i]);
  for (std::size_t begin = 0; begin < size; begin += kernels::kSpreadPart) {
    std::array<kernels::SpreadSums, kernels::kSpreadLanes> lanes{};
    for (std::size_t k = begin; k < std::min(size, begin + kernels::kSpreadPart); ++k) {
      double middle = 0, distance = 0;
      for (std::size_t i = 0; i < count; ++i) middle += rows[i][k];
      middle /= static_cast<double>(count);
      for (std::size_t i = 0; i < count; ++i)
        distance += (rows[i][k] - middle) * (rows[i][k] - middle);
      lanes[k % lanes.size()].distance += distance;
      lanes[k % lanes.size()].length += middle * middle;
    }
    kernels::SpreadSums& sum = *sums++ = {};
    for (std::size_t k = 0; k < 8; ++k) {
      sum.distance += (lanes[k].distance + lanes[k + 8].distance) +
                      (lanes[k + 16].distance + lanes[k + 24].distance);
      sum.length +=
          (lanes[k].length + lanes[k + 8].length) + (lanes[k + 16].length + lanes[k + 24].length);
    }
  }
}

template <class T>
constexpr kernels::Table<T> kTable{.copy = copy<T>,
                                   .scale = scale<T>,
                                   .weighted_mean = weighted_mean<T>,
                                   .mean = mean<T>,
                                   .norm = norm<T>,
                                   .spread = spread<T>};

constexpr std::align_val_t kAligned{Backend::kAlignment};

// Host memory that the device can reach.
class StrictMessages final : public Backend {
 public:
  std::string_view name() const override { return "strict/messages"; }
  void* allocate(std::size_t bytes) const override {
    void* const memory = std::memset(::operator new(bytes, kAligned), 0, bytes);
    strict_backend().add(memory, bytes, true);
    return memory;
  }
  void release(void* memory, std::size_t) const noexcept override {
    strict_backend().remove(memory);
    ::operator delete(memory, kAligned);
  }

 protected:
  const kernels::Table<float>& floats() const override { return kTable<float>; }
  const kernels::Table<double>& doubles() const override { return kTable<double>; }
};

}  // namespace

const StrictBackend& strict_backend() {
  static const StrictBackend backend;
  return backend;
}

void* StrictBackend::allocate(std::size_t bytes) const {
  void* const memory = std::memset(::operator new(bytes, kAligned), 0, bytes);
  add(memory, bytes, false);
  return memory;
}

void StrictBackend::release(void* memory, std::size_t) const noexcept {
  remove(memory);
  ::operator delete(memory, kAligned);
}

void StrictBackend::gather(const float* x, std::span<const std::size_t> positions,
                           float* out) const {
  gathered_.fetch_add(1);
  for (const std::size_t position : positions) {
    if (!holds(x + position, sizeof(float))) complain("gather");
    *out++ = x[position];
  }
}

const Backend& StrictBackend::messages() const {
  static const StrictMessages messages;
  return messages;
}

const kernels::Table<float>& StrictBackend::floats() const { return kTable<float>; }
const kernels::Table<double>& StrictBackend::doubles() const { return kTable<double>; }

const StrictBackend::Piece* StrictBackend::piece_of(const void* memory, std::size_t bytes) const {
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  auto after = pieces_.upper_bound(address);
  if (after == pieces_.begin()) return nullptr;
  const auto& [begin, piece] = *--after;
  return address + bytes <= begin + piece.bytes ? &piece : nullptr;
}

bool StrictBackend::holds(const void* memory, std::size_t bytes) const {
  MutexLock lock(mutex_);
  const Piece* const piece = piece_of(memory, bytes);
  return piece != nullptr && !piece->messages;
}

bool StrictBackend::reaches(const void* memory, std::size_t bytes) const {
  MutexLock lock(mutex_);
  return piece_of(memory, bytes) != nullptr;
}

std::int64_t StrictBackend::allocated() const {
  MutexLock lock(mutex_);
  return static_cast<std::int64_t>(pieces_.size());
}

std::string StrictBackend::complaint() const {
  MutexLock lock(mutex_);
  return complaint_;
}

void StrictBackend::complain(const char* kernel) const {
  MutexLock lock(mutex_);
  complaint_ = kernel;
}

void StrictBackend::add(void* memory, std::size_t bytes, bool messages) const {
  MutexLock lock(mutex_);
  pieces_[reinterpret_cast<std::uintptr_t>(memory)] = {bytes, messages};
}

void StrictBackend::remove(void* memory) const noexcept {
  MutexLock lock(mutex_);
  pieces_.erase(reinterpret_cast<std::uintptr_t>(memory));
}

}  // namespace acid::test

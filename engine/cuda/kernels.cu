#include <cmath>
#include <cstring>
#include <stdexcept>

#include "engine/cuda/device.hpp"
#include "engine/cuda/geometry.hpp"
#include "engine/cuda/kernels.hpp"
#include "engine/worker/elements.hpp"

// Every kernel is bound by memory: it makes one pass, and choices that are the same for all
// elements are branches that all threads take alike. An operation's at<width>(k) does the elements
// [k, k + width), which are one access in every vector.

namespace acid::cuda {
namespace {

template <class T, int width>
struct alignas(width * sizeof(T)) Pack {
  T values[width];
};

template <int width, class T>
__device__ __forceinline__ Pack<T, width> load(const T* from) {
  return *reinterpret_cast<const Pack<T, width>*>(from);
}
template <int width, class T>
__device__ __forceinline__ void store(T* to, const Pack<T, width>& pack) {
  *reinterpret_cast<Pack<T, width>*>(to) = pack;
}

template <class T, class Operation>
__global__ void __launch_bounds__(kThreadsPerBlock) each(Operation operation, Split split) {
  constexpr int width = kAccessBytes / sizeof(T);
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  const std::size_t thread = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  for (std::size_t k = thread; k < split.packs; k += stride)
    operation.template at<width>(split.head + k * width);
  for (std::size_t k = thread; k < split.head + split.tail; k += stride)
    operation.template at<1>(k < split.head ? k : k + split.packs * width);
}

template <class T, class Operation, std::size_t count>
void run(const Operation& operation, std::size_t size, const void* const (&vectors)[count],
         const char* what) {
  if (size == 0) return;
  use_device();
  (void)cudaGetLastError();  // clears the error of a call whose failure was dealt with
  const Split parts = split(size, sizeof(T), vectors);
  each<T><<<blocks(parts, multiprocessors()), kThreadsPerBlock, 0, cudaStreamPerThread>>>(operation,
                                                                                          parts);
  check(cudaGetLastError(), what);
  wait_for_stream(what);
}

/// sum (+)= weight·(x − own).
template <class T>
struct Pull {
  const T* own;
  const T* x;
  T weight;
  bool adds;
  T* sum;

  template <int width>
  __device__ __forceinline__ void at(std::size_t k) const {
    const Pack<T, width> mine = load<width>(own + k), theirs = load<width>(x + k);
    Pack<T, width> pulled{};
    if (adds) pulled = load<width>(sum + k);
    for (int e = 0; e < width; ++e) {
      const T one = kernels::pull_element(mine.values[e], theirs.values[e], weight);
      pulled.values[e] = adds ? pulled.values[e] + one : one;
    }
    store(sum + k, pulled);
  }
};

/// sum ← own + sum.
template <class T>
struct AddPulled {
  const T* own;
  T* sum;

  template <int width>
  __device__ __forceinline__ void at(std::size_t k) const {
    const Pack<T, width> mine = load<width>(own + k);
    Pack<T, width> pulled = load<width>(sum + k);
    for (int e = 0; e < width; ++e) pulled.values[e] = mine.values[e] + pulled.values[e];
    store(sum + k, pulled);
  }
};

/// The mean of `count` vectors, in double.
template <class T>
struct Mean {
  const T* const* vectors;  // in memory that the device can use
  std::size_t count, first;
  T* out;

  template <int width>
  __device__ __forceinline__ void at(std::size_t k) const {
    Pack<T, width> mean;
    for (int e = 0; e < width; ++e) {
      double sum = 0;
      for (std::size_t i = 0; i < count; ++i) sum += static_cast<double>(vectors[i][first + k + e]);
      mean.values[e] = static_cast<T>(sum / static_cast<double>(count));
    }
    store(out + k, mean);
  }
};

template <class T>
struct Scale {
  const T* x;
  T weight;
  T* out;

  template <int width>
  __device__ __forceinline__ void at(std::size_t k) const {
    Pack<T, width> pack = load<width>(x + k);
    for (int e = 0; e < width; ++e)
      pack.values[e] = kernels::scaled_element(pack.values[e], weight);
    store(out + k, pack);
  }
};

// The driver's own copy is as fast as a kernel, and accepts memory of any kind.
template <class T>
void copy(const T* x, T* out, std::size_t size) {
  constexpr const char* what = "copy a vector";
  if (size == 0) return;
  use_device();
  check(cudaMemcpyAsync(out, x, size * sizeof(T), cudaMemcpyDefault, cudaStreamPerThread), what);
  wait_for_stream(what);
}

constexpr const char* kTakeMean = "take a mean";

template <class T>
void scale(const T* x, T weight, T* out, std::size_t size) {
  run<T>(Scale<T>{x, weight, out}, size, {x, out}, "scale a vector");
}

template <class T>
void weighted_mean(const kernels::Weighted<T>* vectors, std::size_t count, std::size_t first,
                   T* out, std::size_t size) {
  const T* const own = vectors[0].x + first;
  const T excess = static_cast<T>(vectors[0].weight);
  if (count == 1 && excess == 0) return copy(own, out, size);
  if (excess != 0) scale(own, excess, out, size);
  for (std::size_t i = 1; i < count; ++i) {
    const T* const x = vectors[i].x + first;
    run<T>(Pull<T>{own, x, static_cast<T>(vectors[i].weight), i > 1 || excess != 0, out}, size,
           {own, x, out}, kTakeMean);
  }
  run<T>(AddPulled<T>{own, out}, size, {own, out}, kTakeMean);
}

template <class T>
void mean(const T* const* vectors, std::size_t count, std::size_t first, T* out, std::size_t size) {
  if (count == 1) return copy(vectors[0] + first, out, size);
  use_device();
  if (count * sizeof(T*) > kBounceBytes)
    throw std::length_error("a mean on a GPU is of at most 131,072 vectors");
  auto* const listed = static_cast<const T**>(bounce_buffer());
  for (std::size_t i = 0; i < count; ++i) listed[i] = vectors[i];
  run<T>(Mean<T>{listed, count, first, out}, size, {out}, kTakeMean);
}

struct Positions {
  std::size_t of[kMostGathered];
};

__global__ void pick(const float* x, Positions positions, std::size_t count, float* out) {
  if (threadIdx.x < count) out[threadIdx.x] = x[positions.of[threadIdx.x]];
}

// As many blocks on every device, so that all devices add in one order.
constexpr unsigned kNormBlocks = 1024;

template <class T>
__global__ void __launch_bounds__(kThreadsPerBlock)
    add_squares(const T* x, std::size_t size, double* sums) {
  __shared__ double parts[kThreadsPerBlock];
  const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
  double sum = 0;
  for (std::size_t k = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; k < size; k += stride)
    sum += static_cast<double>(x[k]) * static_cast<double>(x[k]);
  parts[threadIdx.x] = sum;
  for (unsigned half = kThreadsPerBlock / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
  }
  if (threadIdx.x == 0) sums[blockIdx.x] = parts[0];
}

template <class T>
double norm(const T* x, std::size_t size) {
  constexpr const char* what = "take the norm of a vector";
  static_assert(kNormBlocks * sizeof(double) <= kBounceBytes);
  if (size == 0) return 0;
  use_device();
  (void)cudaGetLastError();
  auto* const sums = static_cast<double*>(bounce_buffer());
  add_squares<T><<<kNormBlocks, kThreadsPerBlock, 0, cudaStreamPerThread>>>(x, size, sums);
  check(cudaGetLastError(), what);
  wait_for_stream(what);
  double sum = 0;
  for (unsigned k = 0; k < kNormBlocks; ++k) sum += sums[k];
  return std::sqrt(sum);
}

// A block of threads for each part. All threads compute the squares of one element each; then a
// warp for each sum adds them lane by lane, in the host's order.
constexpr unsigned kSpreadThreads = 1024;

template <class T>
__global__ void __launch_bounds__(kSpreadThreads)
    spread_parts(const T* const* rows, std::size_t count, std::size_t size,
                 kernels::SpreadSums* sums) {
  constexpr unsigned lanes = kernels::kSpreadLanes, tiles = kSpreadThreads / lanes;
  static_assert(lanes == 32 && kernels::kSpreadPart % kSpreadThreads == 0);
  __shared__ double squares[2][tiles][lanes];
  const unsigned warp = threadIdx.x / lanes, lane = threadIdx.x % lanes;
  const std::size_t begin = blockIdx.x * kernels::kSpreadPart;
  double added = 0;
  for (std::size_t first = begin; first < begin + kernels::kSpreadPart && first < size;
       first += kSpreadThreads) {
    const std::size_t k = first + threadIdx.x;
    double middle = 0, distance = 0;
    if (k < size) {
      for (std::size_t i = 0; i < count; ++i) middle += static_cast<double>(rows[i][k]);
      middle /= static_cast<double>(count);
      for (std::size_t i = 0; i < count; ++i) {
        const double difference = static_cast<double>(rows[i][k]) - middle;
        distance += difference * difference;
      }
    }
    squares[0][warp][lane] = distance;
    squares[1][warp][lane] = middle * middle;
    __syncthreads();
    if (warp < 2)
      for (unsigned tile = 0; tile < tiles; ++tile) added += squares[warp][tile][lane];
    __syncthreads();
  }
  if (warp < 2) squares[warp][0][lane] = added;
  __syncthreads();
  if (threadIdx.x > 1) return;
  const double* const of = squares[threadIdx.x][0];
  double sum = 0;
  for (unsigned k = 0; k < 8; ++k) sum += (of[k] + of[k + 8]) + (of[k + 16] + of[k + 24]);
  (threadIdx.x == 0 ? sums[blockIdx.x].distance : sums[blockIdx.x].length) = sum;
}

template <class T>
void spread(const T* const* rows, std::size_t count, std::size_t size, kernels::SpreadSums* sums) {
  constexpr const char* what = "take the distance of vectors";
  if (size == 0) return;
  use_device();
  (void)cudaGetLastError();
  const std::size_t parts = (size + kernels::kSpreadPart - 1) / kernels::kSpreadPart;
  auto* const found = static_cast<kernels::SpreadSums*>(bounce_buffer());
  auto* const listed = reinterpret_cast<const T**>(found + parts);
  if (parts * sizeof *found + count * sizeof *listed > kBounceBytes)
    throw std::length_error("a distance on a GPU is of at most 65,536 vectors");
  for (std::size_t i = 0; i < count; ++i) listed[i] = rows[i];
  spread_parts<T><<<static_cast<unsigned>(parts), kSpreadThreads, 0, cudaStreamPerThread>>>(
      listed, count, size, found);
  check(cudaGetLastError(), what);
  wait_for_stream(what);
  std::memcpy(sums, found, parts * sizeof *found);
}

template <class T>
constexpr kernels::Table<T> table() {
  return {.copy = copy<T>,
          .scale = scale<T>,
          .weighted_mean = weighted_mean<T>,
          .mean = mean<T>,
          .norm = norm<T>,
          .spread = spread<T>};
}

}  // namespace

extern const kernels::Table<float> floats = table<float>();
extern const kernels::Table<double> doubles = table<double>();

void gather(const float* x, const std::size_t* positions, std::size_t count, float* out) {
  constexpr const char* what = "look at elements of a vector";
  Positions list{};
  std::memcpy(list.of, positions, count * sizeof(std::size_t));
  use_device();
  auto* const bounce = static_cast<float*>(bounce_buffer());
  pick<<<1, kMostGathered, 0, cudaStreamPerThread>>>(x, list, count, bounce);
  check(cudaGetLastError(), what);
  wait_for_stream(what);
  std::memcpy(out, bounce, count * sizeof(float));
}

}  // namespace acid::cuda

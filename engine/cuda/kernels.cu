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

using kernels::AdamFactors;
using kernels::AdamStep;
using kernels::Mixed;
using kernels::SgdStep;

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

/// A worker's event: mixes x and x̃, applies `change` to one element, and writes both vectors back.
template <class T>
struct Event {
  Mixed<T> w;

  template <int width, class Change>
  __device__ __forceinline__ void at(std::size_t k, const Change& change) const {
    Pack<T, width> x = load<width>(w.x + k), x_tilde{};
    if (w.x_tilde != nullptr) x_tilde = load<width>(w.x_tilde + k);
    const bool mixes = w.x_tilde != nullptr && w.c != 0;
    for (int e = 0; e < width; ++e) {
      if (mixes) kernels::mix_element(x.values[e], x_tilde.values[e], w.c);
      change(e, x.values[e], x_tilde.values[e]);
    }
    store(w.x + k, x);
    if (w.x_tilde != nullptr) store(w.x_tilde + k, x_tilde);
  }
};

template <class T>
struct MixAndCopy {
  Mixed<T> w;
  T* out;  // null: only mix

  template <int width>
  __device__ __forceinline__ void at(std::size_t k) const {
    Pack<T, width> copy;
    Event<T>{w}.template at<width>(k, [&](int e, T& x, T&) { copy.values[e] = x; });
    if (out != nullptr) store(out + k, copy);
  }
};

template <class T>
struct CopyMixed {
  const T* x;
  const T* x_tilde;  // null: no mixing
  T c;
  T* out;

  template <int width>
  __device__ __forceinline__ void at(std::size_t k) const {
    Pack<T, width> copy = load<width>(x + k);
    if (x_tilde != nullptr) {
      const Pack<T, width> tilde = load<width>(x_tilde + k);
      for (int e = 0; e < width; ++e)
        copy.values[e] = kernels::mixed_element(copy.values[e], tilde.values[e], c);
    }
    store(out + k, copy);
  }
};

template <class T>
struct MixAndApply {
  Mixed<T> w;
  const T* own;
  const T* partner;
  T a, a_tilde;

  template <int width>
  __device__ __forceinline__ void at(std::size_t k) const {
    const Pack<T, width> ours = load<width>(own + k), theirs = load<width>(partner + k);
    Event<T>{w}.template at<width>(k, [&](int e, T& x, T& x_tilde) {
      kernels::apply_element(x, x_tilde, ours.values[e], theirs.values[e], a, a_tilde);
    });
  }
};

template <class T>
struct Exchange {
  Mixed<T> i, j;
  T a, a_tilde;

  template <int width>
  __device__ __forceinline__ void at(std::size_t k) const {
    Pack<T, width> xj = load<width>(j.x + k), yj{};
    if (j.x_tilde != nullptr) yj = load<width>(j.x_tilde + k);
    const bool mixes_j = j.x_tilde != nullptr && j.c != 0;
    Event<T>{i}.template at<width>(k, [&](int e, T& xi, T& yi) {
      if (mixes_j) kernels::mix_element(xj.values[e], yj.values[e], j.c);
      kernels::exchange_element(xi, yi, xj.values[e], yj.values[e], a, a_tilde);
    });
    store(j.x + k, xj);
    if (j.x_tilde != nullptr) store(j.x_tilde + k, yj);
  }
};

template <class T>
struct MixAndSgd {
  Mixed<T> w;
  SgdStep<T> s;
  T* snapshot;

  template <int width>
  __device__ __forceinline__ void at(std::size_t k) const {
    const Pack<T, width> g = load<width>(s.g + k);
    Pack<T, width> m{}, copy;
    if (s.m != nullptr) m = load<width>(s.m + k);
    Event<T>{w}.template at<width>(k, [&](int e, T& x, T& x_tilde) {
      if (s.m == nullptr)
        kernels::sgd_element<false, false>(x, x_tilde, g.values[e], m.values[e], s);
      else if (s.nesterov)
        kernels::sgd_element<true, true>(x, x_tilde, g.values[e], m.values[e], s);
      else
        kernels::sgd_element<true, false>(x, x_tilde, g.values[e], m.values[e], s);
      copy.values[e] = x;
    });
    if (s.m != nullptr) store(s.m + k, m);
    if (snapshot != nullptr) store(snapshot + k, copy);
  }
};

template <class T>
struct MixAndAdam {
  Mixed<T> w;
  AdamStep<T> s;
  AdamFactors<T> factors;
  T* snapshot;

  template <int width>
  __device__ __forceinline__ void at(std::size_t k) const {
    const Pack<T, width> g = load<width>(s.g + k);
    Pack<T, width> m = load<width>(s.m + k), v = load<width>(s.v + k), copy;
    Event<T>{w}.template at<width>(k, [&](int e, T& x, T& x_tilde) {
      if (s.decoupled)
        kernels::adam_element<true>(x, x_tilde, g.values[e], m.values[e], v.values[e], s, factors);
      else
        kernels::adam_element<false>(x, x_tilde, g.values[e], m.values[e], v.values[e], s, factors);
      copy.values[e] = x;
    });
    store(s.m + k, m);
    store(s.v + k, v);
    if (snapshot != nullptr) store(snapshot + k, copy);
  }
};

#include "engine/cuda/sums.inc"

// The driver's own copy is as fast as a kernel, and accepts memory of any kind.
template <class T>
void copy(const T* x, T* out, std::size_t size) {
  constexpr const char* what = "copy a vector";
  if (size == 0) return;
  use_device();
  check(cudaMemcpyAsync(out, x, size * sizeof(T), cudaMemcpyDefault, cudaStreamPerThread), what);
  wait_for_stream(what);
}

template <class T>
void mix(Mixed<T> w, std::size_t size) {
  if (w.x_tilde == nullptr || w.c == 0) return;
  run<T>(MixAndCopy<T>{w, nullptr}, size, {w.x, w.x_tilde}, "mix a worker's vectors");
}

template <class T>
void mix_and_copy(Mixed<T> w, T* out, std::size_t size) {
  run<T>(MixAndCopy<T>{w, out}, size, {w.x, w.x_tilde, out}, "offer a worker's vector");
}

template <class T>
void copy_mixed_on_device(const T* x, const T* x_tilde, T c, T* out, std::size_t size) {
  run<T>(CopyMixed<T>{x, x_tilde, c, out}, size, {x, x_tilde, out}, "read a worker's vector");
}

template <class T>
void copy_mixed(const T* x, const T* x_tilde, T c, T* out, std::size_t size) {
  if (x_tilde == nullptr || c == 0) return copy(x, out, size);
  use_device();
  if (!is_plain_host_memory(out)) return copy_mixed_on_device(x, x_tilde, c, out, size);
  T* const bounce = static_cast<T*>(bounce_buffer());
  constexpr std::size_t kMost = kBounceBytes / sizeof(T);
  for (std::size_t first = 0; first < size; first += kMost) {
    const std::size_t count = size - first < kMost ? size - first : kMost;
    copy_mixed_on_device(x + first, x_tilde + first, c, bounce, count);
    std::memcpy(out + first, bounce, count * sizeof(T));
  }
}

template <class T>
void mix_and_apply(Mixed<T> w, const T* own, const T* partner, T a, T a_tilde, std::size_t size) {
  run<T>(MixAndApply<T>{w, own, partner, a, a_tilde}, size, {w.x, w.x_tilde, own, partner},
         "apply an exchange");
}

template <class T>
void exchange(Mixed<T> i, Mixed<T> j, T a, T a_tilde, std::size_t size) {
  run<T>(Exchange<T>{i, j, a, a_tilde}, size, {i.x, i.x_tilde, j.x, j.x_tilde},
         "exchange two workers' vectors");
}

template <class T>
void mix_and_sgd(Mixed<T> w, const SgdStep<T>& s, T* snapshot, std::size_t size) {
  run<T>(MixAndSgd<T>{w, s, snapshot}, size, {w.x, w.x_tilde, s.g, s.m, snapshot},
         "commit a gradient");
}

template <class T>
void mix_and_adam(Mixed<T> w, const AdamStep<T>& s, T* snapshot, std::size_t size) {
  run<T>(MixAndAdam<T>{w, s, kernels::adam_factors(s), snapshot}, size,
         {w.x, w.x_tilde, s.g, s.m, s.v, snapshot}, "commit a gradient");
}

template <class T>
void add_scaled(const T* x, T weight, T* out, std::size_t size) {
  run<T>(AddScaled<T>{x, weight, out}, size, {x, out}, "add vectors");
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
void mean(const T* const* vectors, std::size_t count, std::size_t first, T* out,
          std::size_t size) {
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

template <class T>
constexpr kernels::Table<T> table() {
  return {.copy = copy<T>,
          .mix = mix<T>,
          .mix_and_copy = mix_and_copy<T>,
          .copy_mixed = copy_mixed<T>,
          .mix_and_apply = mix_and_apply<T>,
          .exchange = exchange<T>,
          .mix_and_sgd = mix_and_sgd<T>,
          .mix_and_adam = mix_and_adam<T>,
          .add_scaled = add_scaled<T>,
          .scale = scale<T>,
          .weighted_mean = weighted_mean<T>,
          .mean = mean<T>};
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

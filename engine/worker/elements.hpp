#pragma once

#include "engine/worker/kernels.hpp"

// What each kernel does to one element: written once, for every instruction set and for CUDA, so
// that all of them give the same bits. Compile with contraction off (nvcc: --fmad=false).
//
// The functions are static and always inlined: files compiled for different instruction sets share
// no code that a linker could merge, and for the same reason this header includes no other.
#if defined(__CUDACC__)
#define ACID_ELEMENT static __host__ __device__ __forceinline__
#else
#define ACID_ELEMENT static inline __attribute__((always_inline))
#endif

namespace acid::kernels {

ACID_ELEMENT float square_root(float value) {
#if defined(__CUDA_ARCH__)
  return sqrtf(value);
#else
  return __builtin_sqrtf(value);
#endif
}
ACID_ELEMENT double square_root(double value) {
#if defined(__CUDA_ARCH__)
  return sqrt(value);
#else
  return __builtin_sqrt(value);
#endif
}

/// Mixing (see kernels.hpp), of a worker that has an x̃ and with c ≠ 0.
template <class T>
ACID_ELEMENT void mix_element(T& x, T& x_tilde, T c) {
  const T delta = c * (x_tilde - x);
  x += delta;
  x_tilde -= delta;
}

/// x as mix_element would leave it.
template <class T>
ACID_ELEMENT T mixed_element(T x, T x_tilde, T c) {
  return x + c * (x_tilde - x);
}

// In what follows x and x̃ are mixed already, and where the method has no x̃ any value may stand in
// for it: x does not depend on it.

template <class T>
ACID_ELEMENT void apply_element(T& x, T& x_tilde, T own, T partner, T a, T a_tilde) {
  const T m = own - partner;
  x -= a * m;
  x_tilde -= a_tilde * m;
}

template <class T>
ACID_ELEMENT void exchange_element(T& xi, T& xi_tilde, T& xj, T& xj_tilde, T a, T a_tilde) {
  const T m = xi - xj;
  xi -= a * m;
  xi_tilde -= a_tilde * m;
  xj += a * m;
  xj_tilde += a_tilde * m;
}

/// `m` is looked at only where there is momentum.
template <bool momentum, bool nesterov, class T>
ACID_ELEMENT void sgd_element(T& x, T& x_tilde, T g, T& m, const SgdStep<T>& s) {
  const T u = g + s.decay * x;
  T step = u;
  if constexpr (momentum) {
    m = s.momentum * m + u;
    step = nesterov ? u + s.momentum * m : m;
  }
  x -= s.learning_rate * step;
  x_tilde -= s.learning_rate * step;
}

/// What is the same for all elements of one Adam step.
template <class T>
struct AdamFactors {
  T scale;  // of the first moment
  T root;   // of the second moment's root
};

template <class T>
ACID_ELEMENT AdamFactors<T> adam_factors(const AdamStep<T>& s) {
  return {1 / s.correction1, 1 / square_root(s.correction2)};
}

template <bool decoupled, class T>
ACID_ELEMENT void adam_element(T& x, T& x_tilde, T g, T& m, T& v, const AdamStep<T>& s,
                               const AdamFactors<T>& f) {
  T gradient = g;
  if constexpr (!decoupled) gradient += s.decay * x;
  m = s.beta1 * m + (1 - s.beta1) * gradient;
  v = s.beta2 * v + (1 - s.beta2) * gradient * gradient;
  T step = f.scale * m / (square_root(v) * f.root + s.epsilon);
  if constexpr (decoupled) step += s.decay * x;
  x -= s.learning_rate * step;
  x_tilde -= s.learning_rate * step;
}

template <class T>
ACID_ELEMENT T scaled_element(T x, T weight) {
  return weight * x;
}

template <class T>
ACID_ELEMENT void add_scaled_element(T x, T weight, T& out) {
  out += weight * x;
}

/// What a message adds to the mean that an own one is in (see kernels.hpp).
template <class T>
ACID_ELEMENT T pull_element(T own, T x, T weight) {
  return weight * (x - own);
}

/// sum += value, and rest += what the sum was rounded by, to the bit (Knuth's two-sum).
template <class T>
ACID_ELEMENT void add_with_rest(T value, T& sum, T& rest) {
  const T next = sum + value, added = next - sum;
  rest += (sum - (next - added)) + (value - added);
  sum = next;
}

// What a kernel works on, from element `first` on. Null stays null.

template <class T>
ACID_ELEMENT T* from(T* vector, std::size_t first) {
  return vector == nullptr ? nullptr : vector + first;
}

template <class T>
ACID_ELEMENT Mixed<T> from(const Mixed<T>& w, std::size_t first) {
  return {w.x + first, from(w.x_tilde, first), w.c};
}

template <class T>
ACID_ELEMENT SgdStep<T> from(SgdStep<T> step, std::size_t first) {
  step.g += first;
  step.m = from(step.m, first);
  return step;
}

template <class T>
ACID_ELEMENT AdamStep<T> from(AdamStep<T> step, std::size_t first) {
  step.g += first;
  step.m += first;
  step.v += first;
  return step;
}

}  // namespace acid::kernels

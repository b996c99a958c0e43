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

template <class T>
ACID_ELEMENT T scaled_element(T x, T weight) {
  return weight * x;
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

/// A vector from element `first` on. Null stays null.
template <class T>
ACID_ELEMENT T* from(T* vector, std::size_t first) {
  return vector == nullptr ? nullptr : vector + first;
}

}  // namespace acid::kernels

#pragma once

#include "engine/worker/kernels.hpp"

// The tables of kernels for host memory, one pair per instruction set that this build has.
#define ACID_DECLARE_TABLES(set)      \
  namespace acid::kernels::set {      \
  extern const Table<float> floats;   \
  extern const Table<double> doubles; \
  }

ACID_DECLARE_TABLES(baseline)
#if defined(__x86_64__)
ACID_DECLARE_TABLES(avx2)
ACID_DECLARE_TABLES(avx512)
#endif

#undef ACID_DECLARE_TABLES

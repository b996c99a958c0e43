#pragma once

#include <string>

namespace acid {

/// OpenBLAS chooses its kernels by a list of processors. For one that is newer than its list it
/// takes those of 2004, without AVX: two to four times as slow. OPENBLAS_CORETYPE names others, and
/// is read when the library is loaded. The functions below set it for this process; they change
/// nothing if it is set already. Not thread-safe.

/// The core that a run's earlier attempt had ("SkylakeX"), so that its bits stay; empty: unknown,
/// nothing changes. A core that this processor cannot execute is not set.
void prefer_blas_core(const std::string& core);

/// Before LibTorch is loaded: if OpenBLAS would choose kernels without AVX2 although the processor
/// has it, those for AVX-512 or AVX2.
void choose_blas_core();

/// Vector instructions, worst first.
enum class Vectors { other, avx2, avx512 };
/// The instructions of OpenBLAS's kernels for a core.
Vectors vectors_of_core(std::string core);

}  // namespace acid

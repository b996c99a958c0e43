#pragma once

// Before a function that is a plain loop: compiled for the instruction sets that the engine's
// kernels are compiled for (engine/worker/kernels.hpp), and the best that the processor has is
// taken when the program starts; the bits are the same. Sanitizers are not there yet by then.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define ACID_EVERY_PROCESSOR __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define ACID_EVERY_PROCESSOR
#endif

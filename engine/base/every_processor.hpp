#pragma once

// Put it before a function that is a plain loop. The function is compiled for each instruction set
// for which the engine's kernels are compiled (engine/worker/kernels.hpp), and the best one that
// the processor has is chosen when the program starts; the bits are the same. Sanitizers do not run
// yet at that moment.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define ACID_EVERY_PROCESSOR __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define ACID_EVERY_PROCESSOR
#endif

#pragma once

// Before a function whose loop is a peer of the engine's kernels: compiled for the instruction sets
// that those are compiled for, and the best that the processor has is taken when the program
// starts.
#if defined(__x86_64__)
#define ACID_EVERY_PROCESSOR __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define ACID_EVERY_PROCESSOR
#endif

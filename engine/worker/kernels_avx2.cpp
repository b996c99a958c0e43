#if defined(__x86_64__)
#define ACID_INSTRUCTION_SET avx2
#include "engine/worker/kernel_loops.inc"
#endif

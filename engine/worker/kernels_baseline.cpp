#define ACID_INSTRUCTION_SET baseline
#include "engine/worker/kernel_loops.inc"

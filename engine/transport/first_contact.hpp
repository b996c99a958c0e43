#pragma once

#include <functional>

namespace acid {

/// MpiRuntime::assemble(), over MPI_COMM_WORLD: every process tells rank 0 that it is there, and
/// rank 0 tells those that have come of each one more, so that they go on waiting for the others.
/// 2n messages and n²⁄2 of four bytes, and no collective operation, which could not be given up.
void make_first_contact(int rank, int size, double patience_seconds,
                        const std::function<void(int)>& waiting);

}  // namespace acid

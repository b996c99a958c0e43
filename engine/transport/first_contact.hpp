#pragma once

#include <functional>

namespace acid {

/// MpiRuntime::assemble() over MPI_COMM_WORLD. Every process reports to rank 0, and rank 0 tells
/// the processes that have come of each new one, so that they go on waiting. 2n + n²⁄2 messages of
/// four bytes; no collective operation, since those cannot be given up.
void make_first_contact(int rank, int size, double patience_seconds,
                        const std::function<void(int)>& waiting);

}  // namespace acid

#pragma once

#include <cstddef>
#include <functional>

#include "store/store.hpp"

namespace acid {

/// Calls job(store, k) once for every k in [0, count), on as many threads (0: one per core), each
/// with a reading Store of its own; on the calling thread and with the given store if one thread is
/// enough. `progress`, which may be empty, is called on the calling thread after another job. After
/// a failure no further job begins, and the exception of the smallest k is thrown.
void read_in_parallel(const Store& store, std::size_t count, int threads,
                      const std::function<void(const Store&, std::size_t)>& job,
                      const std::function<void(std::size_t done, std::size_t of)>& progress);

}  // namespace acid

#pragma once

#include <cstddef>

#include "engine/worker/team.hpp"
#include "engine/worker/worker_settings.hpp"

namespace acid {

/// Splits one pass over vectors of `size` elements among the threads of a worker.
template <class Pass>
void in_parts(const WorkerSettings& settings, std::size_t size, const Pass& pass) {
  if (settings.threads == 1 || !settings.backend->is_host_memory())
    pass(std::size_t{0}, size);
  else
    team_of_this_thread().run(settings.threads, size, pass);
}

}  // namespace acid

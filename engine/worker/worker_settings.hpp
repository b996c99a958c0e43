#pragma once

#include <cstddef>
#include <vector>

#include "engine/base/error.hpp"
#include "engine/worker/backend.hpp"
#include "engine/worker/optimizer.hpp"
#include "engine/worker/rule.hpp"

namespace acid {

/// Names of what every worker has.
constexpr bool is_workers_own(std::string_view name) {
  return name == "x" || name == "snapshot" || name == "moment1" || name == "moment2" ||
         name == "buffers" || name == "offer";
}

/// What all workers of a run share; outlives them.
struct WorkerSettings {
  std::size_t dimension = 0;
  std::size_t buffer_size = 0;  // floats
  Rules rules;                  // what the method does
  std::vector<Slot> slots;      // what it keeps: follow() sets it with the rules
  std::size_t shared_slots = 0, scalars = 0;
  OptimizerSettings optimizer;
  std::vector<DecayRange> decay;  // covers [0, dimension)
  const Backend* backend = &cpu_backend();
  int threads = 1;        // share a kernel's work on long vectors in host memory; changes no bit
  bool gradients = true;  // false: none will be computed, and nothing is kept for any
  bool snapshots = true;  // false: x never changes while a gradient is in flight, and is not copied

  void follow(const Rules& of_method) {
    rules = of_method;
    const auto list = rules.floats->slots();
    slots.assign(list.begin(), list.end());
    shared_slots = 0;
    while (shared_slots < slots.size() && slots[shared_slots].shared) ++shared_slots;
    for (std::size_t k = 0; k < slots.size(); ++k)
      ACID_ASSERT(slots[k].shared == (k < shared_slots) && !is_workers_own(slots[k].name),
                  "slot {} is shared after others that are not, or has a worker's own name",
                  slots[k].name);
    scalars = rules.floats->scalars().size();
  }
};

}  // namespace acid

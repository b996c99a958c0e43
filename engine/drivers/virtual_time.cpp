#include "engine/drivers/virtual_time.hpp"

#include "engine/drivers/virtual_async.hpp"
#include "engine/drivers/virtual_sync.hpp"

namespace acid {

Outcome run_virtual(const RunSpec& spec, const VirtualOptions& options, Objective& objective,
                    Recorder& recorder, std::stop_token stop) {
  if (spec.method.pattern == Pattern::pairwise)
    return VirtualAsync(spec, options, objective, recorder).run(stop);
  return VirtualSync(spec, options, objective, recorder).run(stop);
}

}  // namespace acid

#include "engine/drivers/virtual/virtual_time.hpp"

#include "engine/drivers/virtual/meetings.hpp"
#include "engine/drivers/virtual/rounds.hpp"

namespace acid {

Outcome run_virtual(const RunSpec& spec, const VirtualOptions& options, Objective& objective,
                    Recorder& recorder, const Continuity& continuity, std::stop_token stop) {
  if (spec.method.pattern == Pattern::pairwise)
    return VirtualAsync(spec, options, objective, recorder, continuity).run(stop);
  return VirtualSync(spec, options, objective, recorder, continuity).run(stop);
}

std::string_view virtual_state_layout(const RunSpec& spec) {
  return spec.method.pattern == Pattern::pairwise ? VirtualAsync::kLayout : VirtualSync::kLayout;
}

}  // namespace acid

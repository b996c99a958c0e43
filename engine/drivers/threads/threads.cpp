#include "engine/drivers/threads/threads.hpp"

#include "engine/drivers/threads/meetings.hpp"
#include "engine/drivers/threads/rounds.hpp"

namespace acid {

Outcome run_threads(const RunSpec& spec, const ThreadsOptions& options, Objective& objective,
                    Recorder& recorder, const Continuity& continuity, const Clock& clock,
                    std::stop_token stop) {
  if (spec.method.pattern == Pattern::pairwise)
    return ThreadsAsync(spec, options, objective, recorder, continuity, clock).run(stop);
  return ThreadsSync(spec, options, objective, recorder, continuity, clock).run(stop);
}

std::string_view threads_state_layout(const RunSpec& spec) {
  return spec.method.pattern == Pattern::pairwise ? ThreadsAsync::kLayout : ThreadsSync::kLayout;
}

}  // namespace acid

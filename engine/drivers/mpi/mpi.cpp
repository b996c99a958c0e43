#include "engine/drivers/mpi/mpi.hpp"

#include "engine/base/error.hpp"
#include "engine/drivers/mpi/director.hpp"
#include "engine/drivers/mpi/rounds.hpp"
#include "engine/drivers/shared/sync_state.hpp"

namespace acid {

Outcome run_mpi(const RunSpec& spec, const MpiOptions& options, Objective& objective,
                Recorder& recorder, const Continuity& continuity, Transport& transport,
                const Clock& clock, std::stop_token stop) {
  ACID_ASSERT(transport.size() == spec.workers, "{} processes for {} workers", transport.size(),
              spec.workers);
  const auto run = spec.method.pattern == Pattern::pairwise ? run_mpi_async : run_mpi_sync;
  return run(spec, options, objective, recorder, continuity, transport, clock, stop);
}

std::string_view mpi_state_layout(const RunSpec& spec) {
  return spec.method.pattern == Pattern::pairwise ? Director::kLayout : kSyncLayout;
}

}  // namespace acid

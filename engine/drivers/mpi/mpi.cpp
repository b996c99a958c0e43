#include "engine/drivers/mpi/mpi.hpp"

#include "engine/base/error.hpp"
#include "engine/drivers/mpi/evaluator.hpp"
#include "engine/drivers/mpi/rounds.hpp"
#include "engine/drivers/shared/rounds.hpp"

namespace acid {

Outcome run_mpi(const Run& run, const MpiOptions& options) {
  ACID_ASSERT(options.transport->size() == run.spec.workers, "{} processes for {} workers",
              options.transport->size(), run.spec.workers);
  const auto run_it = run.spec.method.is_asynchronous() ? run_mpi_async : run_mpi_sync;
  return run_it(run, options);
}

std::string_view mpi_state_layout(const RunSpec& spec) {
  return spec.method.is_asynchronous() ? Evaluator::layout(spec.method) : kRoundsLayout;
}

}  // namespace acid

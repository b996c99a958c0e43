#include "engine/drivers/mpi/mpi.hpp"

#include <optional>

#include "engine/base/error.hpp"
#include "engine/drivers/mpi/async_process.hpp"
#include "engine/drivers/mpi/round_process.hpp"

namespace acid {
namespace {

template <class OwnProcess, class OwnEvaluator>
Outcome run_process(const Run& run, const MpiOptions& options) {
  Post post(*options.transport);
  if (options.goes_on) post.outlive_losses();
  std::optional<Collector> collector;
  std::optional<OwnEvaluator> evaluator;
  if (post.rank() == 0) {
    collector.emplace(run, post);
    post.run_with_heartbeats([&] { evaluator.emplace(run, post, *collector); });
    evaluator->begin();
  }
  return OwnProcess(run, options, post, evaluator ? &*evaluator : nullptr,
                    collector ? &*collector : nullptr)
      .execute();
}

}  // namespace

Outcome run_mpi(const Run& run, const MpiOptions& options) {
  ACID_ASSERT(options.transport->size() == run.spec.workers, "{} processes for {} workers",
              options.transport->size(), run.spec.workers);
  if (run.spec.method.is_asynchronous())
    return run_process<AsyncProcess, AsyncEvaluator>(run, options);
  return run_process<RoundProcess, RoundEvaluator>(run, options);
}

std::string_view mpi_state_layout(const RunSpec& spec) {
  if (!spec.method.is_asynchronous()) return kRoundsLayout;
  return spec.method.has_server() ? "mpi-server/3" : "mpi-async/6";
}

}  // namespace acid

#include "worker/execute_run.hpp"

#include <optional>

#include "engine/base/clock.hpp"
#include "engine/environment/environment.hpp"
#include "recipes/digest.hpp"
#include "store/queries.hpp"
#include "worker/attempt.hpp"
#include "worker/claims.hpp"

namespace acid {

nlohmann::json environment_of(const ComposedRun& run, const nlohmann::json& settings,
                              const std::string& command_line) {
  nlohmann::json surroundings = environment(command_line);
  surroundings["kernels"] = run.spec.backend->name();
  surroundings["model_runtime"] = run.model_runtime;
  if (!run.cuda.is_null()) surroundings["cuda"] = run.cuda;
  surroundings["plan_sha256"] = digest_without_files(settings);
  return surroundings;
}

Exit execute_run(Store& store, const ExecuteOptions& options, std::stop_token stop) {
  while (true) {
    const RunDetail run = run_detail(store, options.run_id);
    // Another process may have been asked for the same run, and have finished it.
    if (run.summary.state == RunState::finished && !options.fresh) return Exit::ok;
    const RunSettings settings = stored_settings(run);
    if (settings.execution.entry().has_processes)
      throw UsageError(
          fmt::format("run {} has one process per worker: 'acid run' starts them", options.run_id));
    refuse_altered_settings(run);
    if (!options.fresh) keep_blas_core(run);
    const auto composed = compose_stored(run, settings, usable_cores());
    options.begins();
    std::optional<Attempt> attempt;
    try {
      attempt.emplace(options, store, run, *composed,
                      environment_of(*composed, run.settings, options.command_line),
                      composed->remarks);
    } catch (const Overtaken&) {
      continue;
    }
    return attempt->execute([&](Recorder& recorder, const Checkpointing& checkpointing) {
      return driver(composed->driver())
          .run({composed->spec, *composed->objective, recorder, checkpointing, stop},
               composed->options);
    });
  }
}

}  // namespace acid

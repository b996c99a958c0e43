#include "worker/run.hpp"

#include <optional>

#include "engine/base/clock.hpp"
#include "engine/base/digest.hpp"
#include "engine/environment/environment.hpp"
#include "recipes/path_fields.hpp"
#include "store/existing_store.hpp"
#include "store/queries.hpp"
#include "worker/attempt.hpp"
#include "worker/claims.hpp"

namespace acid {
namespace {}  // namespace

nlohmann::json environment_of(const ComposedRun& run, const nlohmann::json& settings,
                              const std::string& command_line) {
  nlohmann::json surroundings = environment(command_line);
  surroundings["kernels"] = run.spec.backend->name();
  surroundings["model_runtime"] = run.model_runtime;
  if (!run.cuda.is_null()) surroundings["cuda"] = run.cuda;
  // How often a run is saved, recorded and restarted, and where, is no part of its result.
  nlohmann::json plan = settings;
  plan.erase("checkpoint");
  plan.at("record").erase("events");
  nlohmann::json& execution = plan.at("execution");
  execution.erase("max_restarts");
  if (execution.contains("mpi"))
    execution["mpi"] = {{"all_reduce", execution["mpi"].at("all_reduce")},
                        {"slow_workers", execution["mpi"].at("slow_workers")}};
  // Nor is where its files lie: its id and file_digests tell what they hold.
  for_each_path(plan, [](nlohmann::json& path) { path = nullptr; });
  surroundings["plan_sha256"] = sha256_hex(plan.dump());
  return surroundings;
}

Exit execute_run(const ExecuteOptions& options, std::stop_token stop) {
  Store store = open_existing_store(options.store_folder);
  while (true) {
    const RunDetail run = run_detail(store, options.run_id);
    // Another process may have been asked for the same run, and have finished it.
    if (run.summary.state == RunState::finished && !options.fresh) return Exit::ok;
    if (run.settings.at("execution").at("driver") == "mpi")
      throw UsageError(
          fmt::format("run {} has one process per worker: 'acid run' starts them", options.run_id));
    refuse_altered_settings(run);
    const auto composed = compose_stored(run, usable_cores());
    options.begins();
    std::optional<Attempt> attempt;
    try {
      attempt.emplace(options, store, run, *composed,
                      environment_of(*composed, run.settings, options.command_line));
    } catch (const Overtaken&) {
      continue;
    }
    return attempt->execute([&](Recorder& recorder, const Checkpointing& checkpointing) {
      return driver(composed->driver)
          .run({composed->spec, *composed->objective, recorder, checkpointing, stop},
               composed->options);
    });
  }
}

}  // namespace acid

#include "exports/final_model.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "engine/base/error.hpp"
#include "engine/base/fields.hpp"
#include "settings/run_settings.hpp"

namespace acid {

void require_model(const RunDetail& run) {
  const TaskSettings task = task_from(run.settings);
  if (!task.model.is_null()) return;
  throw UsageError(fmt::format(
      "run {} has no model: the gradients of its task, {}, are formulas, and torchscript and "
      "test-set are for models; '--format safetensors' exports the vector that it found",
      run.summary.id, text(task.dataset, "kind")));
}

AttemptResult::Artifact final_mean_of(const RunDetail& run) {
  if (run.result)
    for (const AttemptResult::Artifact& each : run.result->artifacts) {
      if (each.role != "final-mean") continue;
      if (each.removed.empty()) return each;
      throw UsageError(fmt::format(
          "the final model of run {} is not in this store, which is a copy without models: 'acid "
          "run --force' of its recipe makes the model again, with SHA-256 {}",
          run.summary.id, each.sha256));
    }
  throw UsageError(fmt::format("run {} ({}) has no final model: only a run that has finished has",
                               run.summary.id, state_name(run.summary.state)));
}

}  // namespace acid

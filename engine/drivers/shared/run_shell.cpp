#include "engine/drivers/shared/run_shell.hpp"

namespace acid {
namespace {

RunSpec spec_of_ensemble(const RunSpec& spec, bool elsewhere) {
  RunSpec own = spec;
  if (elsewhere) own.backend = &cpu_backend();
  return own;
}

}  // namespace

RunShell::RunShell(const Run& its_run, ParallelFor parallel_for, Options options)
    : run(its_run),
      spec(its_run.spec),
      ensemble(spec_of_ensemble(spec, options.elsewhere), its_run.objective, options.gradients),
      log(spec.workers, options.logs || spec.keep_events, its_run.recorder),
      sampler(spec, its_run.objective, its_run.recorder, std::move(parallel_for)),
      computes_(options.computes) {}

}  // namespace acid

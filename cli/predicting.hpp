#pragma once

#include <string>
#include <vector>

#include "cli/predict/before.hpp"
#include "cli/processes/executor.hpp"
#include "cli/recipe_options.hpp"
#include "store/at_work.hpp"

namespace acid {

/// Predicts those runs of a plan that want it, have not begun, and have no prediction yet. All that
/// it is made of must outlive it.
class Predicting {
 public:
  Predicting(const Plan& plan, const RecipeOptions& recipe, const ExecutorOptions& executor)
      : plan_(plan), recipe_(recipe), executor_(executor) {}

  /// Executes the simulated runs. Returns another exit than ok where nothing else may be executed.
  Exit before(const std::vector<RunRecord>& runs, const std::string& command_line, AtWork& at_work);
  /// Stores the predictions. The runs of the plan are in the store, and none has begun since.
  void store() const;

 private:
  void warn_of_default_machine(const std::vector<PlannedRun>& simulated) const;
  Unpredicted wanted(const std::vector<RunRecord>& runs) const;
  Exit simulate(const SimulatedPlan& simulated, const ExperimentRecord& experiment,
                AtWork& at_work) const;

  const Plan& plan_;
  const RecipeOptions& recipe_;
  const ExecutorOptions& executor_;
  std::vector<RunPrediction> predictions_;
};

}  // namespace acid

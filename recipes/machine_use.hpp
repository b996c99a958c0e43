#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "recipes/diagnostics.hpp"
#include "recipes/machines.hpp"
#include "recipes/node.hpp"
#include "recipes/plan.hpp"

namespace acid {

/// The machines that a recipe names, each read once.
class Machines {
 public:
  Machines(std::filesystem::path recipe_folder, Diagnostics& diagnostics)
      : folder_(std::move(recipe_folder)), out_(&diagnostics) {}

  /// What came of one run's execution.virtual.machine.
  struct Use {
    const Machine* machine = nullptr;  // nullptr: the run has none, or it is reported
    Place place;
    /// The machine was not measured for such a run.
    std::optional<Problem> refusal = {};
  };
  /// Adds the machine's numbers to a run's sections, as keys of Origin::machine, where the recipe
  /// has no such keys. Reports what is wrong with the file.
  Use apply_to(Node& tree);
  /// Warns where the gradients that were measured are of another model than the run's.
  void look_at_model(const Use& use, const PlannedRun& run);

 private:
  const Machine* find(const Node& name);

  std::filesystem::path folder_;
  Diagnostics* out_;
  std::map<std::string, std::optional<Machine>> read_;
};

/// Durations of the gradients of workers on one or several hosts.
struct MeasuredPace {
  double mean_seconds = 0;
  std::vector<double> quantiles;     // with mean 1; empty: all alike
  std::vector<double> host_factors;  // of each host, times the mean; empty: one host
};
/// For so many workers on each node, with so many threads each, where nodes take hosts in turn;
/// between counts that were measured, interpolated. Nothing outside of them, and `why_not` says so.
std::optional<MeasuredPace> measured_pace(const Machine& machine,
                                          const std::vector<int>& workers_on_nodes, int threads,
                                          Problem& why_not);

}  // namespace acid

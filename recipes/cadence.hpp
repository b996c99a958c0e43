#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string_view>

#include "recipes/node.hpp"

namespace acid {

/// Converts epochs into gradients and gradients into normalised time.
struct Pace {
  int workers = 1;
  std::int64_t train_size = 0;  // 0: epochs have no meaning
  std::int64_t batch_size = 0;
  double gradients(double epochs) const {
    return epochs * static_cast<double>(train_size) / static_cast<double>(batch_size);
  }
};

/// Called with the dotted path of the key at fault.
using Report = std::function<void(std::string_view path, Problem problem)>;

/// The functions below resolve sections that check_*() returned. Result here: {gradients,
/// normalised_time (null unless the recipe gives it), seconds, bytes, target}; false after
/// reporting.
bool resolve_budget(nlohmann::json& budget, const Pace& pace, const Report& report);
/// optimizer.schedule: warm-up and milestones, in epochs or gradients, become shares of the
/// resolved budget. A milestone takes effect at the first gradient that is not before it. Reports
/// those at the budget's end or beyond.
void resolve_schedule(nlohmann::json& schedule, const Pace& pace, const nlohmann::json& budget,
                      const Report& report);
/// evaluation {every_time, consensus_every_time, workers}, in normalised time, for a run until
/// `end`; with every_seconds the first two are null. `seconds`: the longest duration by the clock;
/// 0: unknown. Reports cadences that are far too fine.
void resolve_evaluation(nlohmann::json& evaluation, const Pace& pace, double end, double seconds,
                        const Report& report);
/// checkpoint {every_time, every_seconds, keep}; both null: the worker decides. `end` and reports
/// as above.
void resolve_checkpoint(nlohmann::json& checkpoint, const Pace& pace, double end,
                        const Report& report);

}  // namespace acid

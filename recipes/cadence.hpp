#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string_view>

#include "recipes/node.hpp"

namespace acid {

/// What turns epochs into gradients and gradients into normalised time.
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

/// Sections as check_* leave them → resolved:
/// budget {gradients, normalised_time (null unless it is what the recipe gave), seconds, bytes,
/// target}; false after reporting.
bool resolve_budget(nlohmann::json& budget, const Pace& pace, const Report& report);
/// optimizer.schedule, whose warm-up and milestones may be in epochs or gradients: as shares of the
/// resolved budget. A milestone is at the first gradient that is not before it. Reports what lies
/// at the budget's end or beyond.
void resolve_schedule(nlohmann::json& schedule, const Pace& pace, const nlohmann::json& budget,
                      const Report& report);
/// evaluation {every_time, consensus_every_time, workers}, in normalised time, of a run that lasts
/// until `end`; with every_seconds it has that too and both others are null. `seconds`: at most
/// that long by the clock, as far as is known; 0: unknown. Reports cadences that are absurdly fine.
void resolve_evaluation(nlohmann::json& evaluation, const Pace& pace, double end, double seconds,
                        const Report& report);
/// checkpoint {every_time, every_seconds, keep}; both null: the worker decides by itself. `end` and
/// what is reported as above.
void resolve_checkpoint(nlohmann::json& checkpoint, const Pace& pace, double end,
                        const Report& report);

}  // namespace acid

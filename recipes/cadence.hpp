#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "engine/methods/method.hpp"
#include "recipes/node.hpp"
#include "recipes/plan.hpp"
#include "settings/run_settings.hpp"

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

/// The functions below resolve sections that check_sections() completed. Result here: {gradients,
/// normalised_time (null unless the recipe gives it), seconds, bytes, target}; false after
/// reporting.
bool resolve_budget(nlohmann::json& budget, const Pace& pace, const Report& report);
/// optimizer.schedule: warm-up and milestones, in epochs or gradients, become shares of the
/// resolved budget. A milestone takes effect at the first gradient that is not before it. Reports
/// those at the budget's end or beyond.
void resolve_schedule(nlohmann::json& schedule, const Pace& pace, const nlohmann::json& budget,
                      const Report& report);
/// What evaluations cost, in gradients, as far as sizes tell it: a pass forward over an example is
/// a third of its share of a gradient, because the pass back costs twice as much (Kaplan et al.
/// 2020, 2001.08361, section 2.1).
struct EvaluationCost {
  double mean = 0;     // an evaluation of the mean; 0: unknown, or as good as nothing
  double workers = 0;  // the workers' own models, once
  /// Of a whole run with an evaluation at the start and so many more. `when`: evaluation.workers.
  double of_run(std::int64_t more, std::string_view when) const {
    const auto all = static_cast<double>(more + 1);
    return all * mean + (when == "never" ? 0 : when == "always" ? all * workers : workers);
  }
};

/// `labels`: of an example. `models`: with how many sets of buffers the mean is evaluated.
EvaluationCost evaluation_cost(const PlannedRun::Examples& examples, std::int64_t labels,
                               const Pace& pace, int models);

/// evaluation {every_time, consensus_every_time, workers}, in normalised time, for a run until
/// `end`; with every_seconds the first two are null. Long runs have consensus_samples instead of
/// consensus_every_time. Without a cadence there are as many evaluations as cost at most 5 % of the
/// gradients, but the start and at least 4, at most 20 more. `seconds`: the longest duration by the
/// clock; 0: unknown. Reports cadences that are far too fine.
void resolve_evaluation(nlohmann::json& evaluation, const Pace& pace, const EvaluationCost& cost,
                        double end, double seconds, const Report& report);
/// Gives a run this share of its resolved budget, and as many evaluations as before. A learning
/// rate's schedule, in shares of the budget, keeps its form.
void shorten(nlohmann::json& budget, nlohmann::json& evaluation, double share, const Pace& pace);
/// What the samples of a run until `end` will be, from the resolved section. Nothing if the clock
/// decides.
std::optional<PlannedRun::Samples> planned_samples(const nlohmann::json& evaluation,
                                                   const RunSettings& settings,
                                                   const Method& method, const EvaluationCost& cost,
                                                   double end);
/// checkpoint {every_time, every_seconds, keep}; both null: the worker decides. `end` and reports
/// as above.
void resolve_checkpoint(nlohmann::json& checkpoint, const Pace& pace, double end,
                        const Report& report);

}  // namespace acid

#include "reports/rounding.hpp"

#include <algorithm>
#include <cmath>

#include "engine/base/error.hpp"
#include "engine/methods/method.hpp"
#include "reports/known_metrics.hpp"
#include "reports/settings.hpp"

namespace acid {
namespace {

using nlohmann::json;

constexpr double kUnit = 0x1p-24;  // of a float
constexpr double kDeviations = 4;

/// A worker's exchanges by its method; one for each step if the recipe sets that.
double planned_exchanges(const RunSummary& run, const json& settings, double steps) {
  const AlgorithmEntry* const entry = find_algorithm(run.algorithm);
  if (entry == nullptr || !settings.contains("algorithm")) return steps;
  try {
    const Method method = method_of(*entry, settings.at("algorithm"), nullptr);
    return exchanges_in(method, steps);
  } catch (const Error&) {  // settings of another version
    return steps;
  } catch (const json::exception&) {
    return steps;
  }
}

/// Methods of neighbours correct their steps by the vectors that they keep, which adds up rounding
/// errors; a sum of pulls has the digits of two vectors.
bool sums_its_errors(const json& settings) {
  const json& keep = setting_at(settings, "/algorithm/listing/keep");
  if (setting_at(settings, "/algorithm/listing/peers") != "neighbours" || !keep.is_object())
    return false;
  const auto is_pulled = [](const json& start) {
    return start.is_string() && start.get_ref<const std::string&>().starts_with("pulled(");
  };
  return std::ranges::none_of(keep, is_pulled) &&
         !std::ranges::all_of(keep, [](const json& start) { return start == "rest"; });
}

bool all_reduces(const RunSummary& run, const json& settings) {
  const json& peers = setting_at(settings, "/algorithm/listing/peers");
  if (!peers.is_null()) return peers == "all" || peers.is_array();
  const AlgorithmEntry* const entry = find_algorithm(run.algorithm);
  return entry != nullptr && entry->peers == Peers::all;
}

double loss_at_start(const RunRounding& run, const std::string& metric) {
  const auto found = run.starts.find(metric);
  return found == run.starts.end() ? 0 : std::abs(found->second);
}

double moved(double parameters, double value, double scale) {
  return 2 * parameters * std::sqrt(value * scale) + parameters * parameters * scale;
}

void take_larger(std::map<std::string, double>& into, const std::map<std::string, double>& from) {
  for (const auto& [name, value] : from) {
    double& known = into.try_emplace(name, value).first->second;
    known = std::max(known, value);
  }
}

}  // namespace

void RunRounding::take_worse(const RunRounding& other) {
  steps = std::max(steps, other.steps);
  exchanges = std::max(exchanges, other.exchanges);
  round = std::max(round, other.round);
  parameters = std::max(parameters, other.parameters);
  take_larger(starts, other.starts);
  take_larger(per_unit, other.per_unit);
}

RunRounding rounding_of(const RunSummary& run, const json& settings) {
  RunRounding result;
  const double workers = std::max(1, run.workers);
  const auto drawn = run.metrics.find("exchanges");
  result.steps = static_cast<double>(run.progress.gradients) / workers;
  result.round = result.steps > 0 ? 1 / result.steps : 0;
  if (drawn != run.metrics.end() && drawn->second > 0)
    result.exchanges = 2 * drawn->second / workers;
  else if (workers > 1)
    result.exchanges = planned_exchanges(run, settings, result.steps);
  const double roundings = std::max(1.0, result.steps + result.exchanges);
  const double averaging = all_reduces(run, settings) ? 1 : workers;
  double reach = 1;
  if (sums_its_errors(settings)) {
    const double pull = number_at(settings, "/optimizer/learning_rate", 1) *
                        number_at(settings, "/task/dataset/curvature", 1);
    reach = std::max(1.0, std::min(result.steps, pull > 0 ? 1 / pull : result.steps));
  }
  result.parameters = kDeviations * kUnit * std::sqrt(roundings / averaging) * reach;
  return result;
}

double rounding_floor(const RunRounding& a, const RunRounding& b, const std::string& metric,
                      double value_a, double value_b, double target) {
  const double parameters = a.parameters + b.parameters;
  const std::string base(base_metric(metric));
  const double value = std::max(std::abs(value_a), std::abs(value_b));
  if (!std::isfinite(value)) return 0;
  if (metric == "gradients_per_second") return std::max(a.round, b.round) * value;
  if (is_counted(metric)) return 0;
  if (!is_to_target(metric))
    return moved(parameters, value,
                 std::max({value, loss_at_start(a, base), loss_at_start(b, base)}));
  double per_unit = 0;
  for (const RunRounding* run : {&a, &b})
    if (const auto found = run->per_unit.find(metric); found != run->per_unit.end())
      per_unit = std::max(per_unit, found->second);
  const double reached = std::abs(target);
  return std::max(2 * parameters * value,
                  per_unit * moved(parameters, reached,
                                   std::max({reached, loss_at_start(a, kTargetStart),
                                             loss_at_start(b, kTargetStart)})));
}

}  // namespace acid

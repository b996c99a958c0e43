#include "reports/html/theory.hpp"

#include <fmt/format.h>

#include <cmath>

#include "engine/methods/method.hpp"
#include "reports/numbers.hpp"
#include "reports/settings.hpp"

namespace acid {
namespace {

constexpr int kSteps = 64;
constexpr double kSmallest = 1e-300;  // the line ends before doubles do

double number_of(const FlatSettings& settings, const std::string& key, double otherwise) {
  const nlohmann::json& value = value_at(settings, key);
  return value.is_number() ? value.get<double>() : otherwise;
}

std::string word_of(const FlatSettings& settings, const std::string& key) {
  const nlohmann::json& value = value_at(settings, key);
  return value.is_string() ? value.get<std::string>() : std::string();
}

/// Absent, null, false, zero, {} and [].
bool is_nothing(const FlatSettings& settings, const std::string& key) {
  for (auto found = settings.lower_bound(key);
       found != settings.end() && found->first.rfind(key, 0) == 0; ++found) {
    const nlohmann::json& value = found->second;
    const bool empty = value.is_null() || value == false || (value.is_number() && value == 0) ||
                       (value.is_structured() && value.empty());
    if (!empty) return false;
  }
  return true;
}

bool exchanges_are_instant(const FlatSettings& settings) {
  return word_of(settings, "execution.driver") == "virtual" &&
         is_nothing(settings, "execution.virtual.network.latency_seconds") &&
         is_nothing(settings, "execution.virtual.network.bandwidth_bytes_per_second") &&
         is_nothing(settings, "execution.virtual.network.edges") &&
         is_nothing(settings, "execution.virtual.pauses");
}

/// Only exchanges change the workers' distances: gradients are zero, or noise that theory covers.
bool is_pure_gossip(const FlatSettings& settings) {
  return word_of(settings, "task.dataset.kind") == "quadratic" &&
         is_nothing(settings, "task.dataset.curvature") &&
         is_nothing(settings, "optimizer.weight_decay");
}

bool noise_is_covered(const FlatSettings& settings) {
  return word_of(settings, "optimizer.kind") == "sgd" &&
         word_of(settings, "optimizer.schedule.kind") == "constant" &&
         is_nothing(settings, "optimizer.schedule.warmup") &&
         word_of(settings, "optimizer.schedule.scale_with_workers") == "none" &&
         is_nothing(settings, "optimizer.momentum") &&
         is_nothing(settings, "optimizer.clip_norm") &&
         word_of(settings, "execution.virtual.gradient_clock") == "poisson" &&
         is_nothing(settings, "execution.virtual.slow_workers");
}

/// (1 − 1/n) γ²σ²d, by which gradient noise lifts C in a unit of time.
double noise_power(const FlatSettings& settings, int workers) {
  const double step = number_of(settings, "optimizer.learning_rate", 0) *
                      number_of(settings, "task.dataset.noise", 0);
  return (1 - 1.0 / workers) * step * step * number_of(settings, "task.dataset.dimension", 0);
}

/// Geometric, as the curve is; 0 unless every seed was sampled at the start, apart.
double start_of(std::span<const CurvePoint> starts) {
  double logarithms = 0;
  for (const CurvePoint& start : starts) {
    if (start.x != 0 || !(start.y > 0) || !std::isfinite(start.y)) return 0;
    logarithms += std::log(start.y);
  }
  return starts.empty() ? 0 : std::exp(logarithms / static_cast<double>(starts.size()));
}

bool all_at_zero_time(std::span<const CurvePoint> starts) {
  for (const CurvePoint& start : starts)
    if (start.x != 0) return false;
  return !starts.empty();
}

/// Of rounds, in the long run: steps of a staircase lie above it.
std::optional<Decay> decay_of_rounds(const Numbers& numbers) {
  const auto left = numbers.find("left"), exchanges = numbers.find("exchanges");
  if (left == numbers.end() || exchanges == numbers.end()) return std::nullopt;
  if (!(left->second > 0) || !(left->second < 1)) return std::nullopt;
  const double rate = -2 * std::log(left->second) * exchanges->second;
  return Decay{1, rate, "st", "s", rate};
}

std::string note_of(const Decay& decay, double level, bool bound) {
  const std::string formula = fmt::format(
      "{}C(0) e^(−{}), {} = {}", decay.factor == 1 ? "" : format_number(decay.factor, 3) + " ",
      decay.exponent, decay.symbol, format_number(decay.value, 3));
  if (!bound)
    return fmt::format(
        "the decay of gossip alone, {}; a guide to the slope and no bound for this run, whose "
        "gradients or exchanges theory does not cover.",
        formula);
  return fmt::format(
      "in expectation the consensus distance is at most {}{}, for exchanges that take no time.",
      formula,
      level > 0 ? fmt::format(", plus {} (1 − e^(−{})) from gradient noise",
                              format_number(level, 3), decay.exponent)
                : "");
}

}  // namespace

std::optional<TheoryLine> consensus_theory(const ComparedGroup& group, const GroupNetwork& network,
                                           std::span<const CurvePoint> starts, double end) {
  const AlgorithmEntry* const method = find_algorithm(group.algorithm);
  const bool meets = method != nullptr && method->theory != nullptr;
  const std::optional<Decay> decay =
      meets ? method->theory(network.numbers) : decay_of_rounds(network.numbers);
  if (!decay || !(end > 0) || !all_at_zero_time(starts)) return std::nullopt;
  const FlatSettings settings = flatten(group.settings);
  TheoryLine line;
  double level = 0;  // C(t) ≤ factor · C(0) e^(−rate·t) + level · (1 − e^(−rate·t))
  line.bound = meets && exchanges_are_instant(settings) && is_pure_gossip(settings);
  if (line.bound && !is_nothing(settings, "task.dataset.noise")) {
    line.bound = noise_is_covered(settings);
    if (line.bound) level = decay->factor * noise_power(settings, network.workers) / decay->rate;
  }
  const double start = decay->factor * start_of(starts);
  if (!(start > 0) && !(level > 0)) return std::nullopt;
  for (int k = 0; k <= kSteps; ++k) {
    const double time = end * k / kSteps, left = std::exp(-decay->rate * time);
    const double value = start * left + level * (1 - left);
    if (value < kSmallest && k > 0) break;
    line.normalised_time.push_back(time);
    line.value.push_back(value);
  }
  line.label = group.label + (line.bound ? " bound" : ", gossip alone");
  line.note = note_of(*decay, level, line.bound);
  return line;
}

}  // namespace acid

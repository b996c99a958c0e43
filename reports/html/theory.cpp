#include "reports/html/theory.hpp"

#include <fmt/format.h>

#include <cmath>

#include "reports/numbers.hpp"
#include "settings/consensus_theory.hpp"

namespace acid {
namespace {

constexpr int kSteps = 64;
constexpr double kSmallest = 1e-300;  // the line ends before doubles do

std::optional<double> number_of(const GroupNetwork& network, const char* name) {
  const auto found = network.numbers.find(name);
  return found == network.numbers.end() ? std::nullopt : std::optional(found->second);
}

std::optional<ConsensusTheory> theory_of_exchanges(const ComparedGroup& group,
                                                   const GroupNetwork& network) {
  const auto chi1 = number_of(network, "chi1"), chi2 = number_of(network, "chi2");
  if (!chi1 || !chi2) return std::nullopt;
  try {
    return consensus_theory(settings_from(group.settings), *chi1, *chi2);
  } catch (const std::exception&) {
    return std::nullopt;  // Settings of another acid, with unknown meaning.
  }
}

/// Geometric, like the curve; 0 unless every seed was sampled at the start, apart.
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

/// The theory of rounds, in the long run: steps of a staircase are above it.
std::optional<ConsensusTheory> theory_of_rounds(const GroupNetwork& network) {
  const auto left = number_of(network, "left"), exchanges = number_of(network, "exchanges");
  if (!left || !exchanges || !(*left > 0) || !(*left < 1)) return std::nullopt;
  const double rate = -2 * std::log(*left) * *exchanges;
  return ConsensusTheory{Decay{1, rate, "st", "s", rate}, std::nullopt};
}

std::string note_of(const ConsensusTheory& theory) {
  const Decay& decay = theory.decay;
  const std::string formula = fmt::format(
      "{}C(0) e^(−{}), {} = {}", decay.factor == 1 ? "" : format_number(decay.factor, 3) + " ",
      decay.exponent, decay.symbol, format_number(decay.value, 3));
  if (!theory.level)
    return fmt::format(
        "the decay of gossip alone, {}; a guide to the slope and no bound for this run, whose "
        "gradients or exchanges theory does not cover.",
        formula);
  return fmt::format(
      "in expectation the consensus distance is at most {}{}, for exchanges that take no time.",
      formula,
      *theory.level > 0 ? fmt::format(", plus {} (1 − e^(−{})) from gradient noise",
                                      format_number(*theory.level, 3), decay.exponent)
                        : "");
}

}  // namespace

std::optional<TheoryLine> theory_line(const ComparedGroup& group, const GroupNetwork& network,
                                      std::span<const CurvePoint> starts, double end) {
  std::optional<ConsensusTheory> theory = theory_of_exchanges(group, network);
  if (!theory) theory = theory_of_rounds(network);
  if (!theory || !(end > 0) || !all_at_zero_time(starts)) return std::nullopt;
  const Decay& decay = theory->decay;
  const double start = decay.factor * start_of(starts), level = theory->level.value_or(0);
  if (!(start > 0) && !(level > 0)) return std::nullopt;
  TheoryLine line;
  line.bound = theory->level.has_value();
  for (int k = 0; k <= kSteps; ++k) {
    const double time = end * k / kSteps, left = std::exp(-decay.rate * time);
    const double value = start * left + level * (1 - left);
    if (value < kSmallest && k > 0) break;
    line.normalised_time.push_back(time);
    line.value.push_back(value);
  }
  line.label = group.label + (line.bound ? " bound" : ", gossip alone");
  line.note = note_of(*theory);
  return line;
}

}  // namespace acid

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "engine/base/error.hpp"
#include "engine/topology/laplacian.hpp"

namespace acid {
namespace {

/// A neighbour g of worker 0: θ_k(g)/2π = Σ step · digit(k) / period over its nonzero digits.
struct Generator {
  double rate = 0;
  struct Term {
    std::size_t digit = 0;
    std::int64_t step = 0;
  };
  std::vector<Term> terms;
};

struct Group {
  std::span<const int> cycles;
  std::int64_t period = 1;  // least common multiple of the cycles
  std::vector<Generator> generators;

  explicit Group(std::span<const int> lengths) : cycles(lengths) {
    for (const int length : cycles) period = std::lcm(period, std::int64_t{length});
  }
  void add(int worker, double rate) {
    Generator generator{rate, {}};
    for (std::size_t a = cycles.size(); a-- > 0; worker /= cycles[a]) {
      const int digit = worker % cycles[a];
      if (digit != 0) generator.terms.push_back({a, digit * (period / cycles[a])});
    }
    generators.push_back(std::move(generator));
  }
};

/// Counts in the group's numbering: the last digit moves fastest.
void increment(std::vector<int>& digits, std::span<const int> cycles) {
  for (std::size_t a = cycles.size(); a-- > 0;) {
    if (++digits[a] < cycles[a]) return;
    digits[a] = 0;
  }
}

}  // namespace

Extremes translation_extremes(const Topology& topology, double rate) {
  Group group(topology.cycles());
  for (const Neighbour& neighbour : topology.neighbours(0)) {
    group.add(neighbour.worker, topology.edge_rate(0, neighbour.worker, rate));
  }
  // 1 − cos θ as 2 sin²(θ/2), which keeps the smallest eigenvalues of large rings exact.
  std::vector<double> one_minus_cosine(static_cast<std::size_t>(group.period));
  for (std::size_t m = 0; m < one_minus_cosine.size(); ++m) {
    const double fraction = static_cast<double>(m) / static_cast<double>(group.period);
    const double sine = std::sin(std::numbers::pi * fraction);
    one_minus_cosine[m] = 2 * sine * sine;
  }

  Extremes extremes{std::numeric_limits<double>::infinity(), 0};
  std::vector<double> resistance(group.generators.size()), term(resistance.size());
  std::vector<int> k(group.cycles.size());
  for (int character = 1; character < topology.workers(); ++character) {
    increment(k, group.cycles);
    double eigenvalue = 0;
    for (std::size_t g = 0; g < term.size(); ++g) {
      std::int64_t angle = 0;
      for (const auto& [digit, step] : group.generators[g].terms) angle += step * k[digit];
      term[g] = one_minus_cosine[static_cast<std::size_t>(angle % group.period)];
      eigenvalue += group.generators[g].rate * term[g];
    }
    extremes.lambda2 = std::min(extremes.lambda2, eigenvalue);
    for (std::size_t g = 0; g < term.size(); ++g) resistance[g] += term[g] / eigenvalue;
  }
  ACID_ASSERT(extremes.lambda2 > 0, "topology '{}' is not connected", topology.kind());
  extremes.largest_resistance = 2 * std::ranges::max(resistance) / topology.workers();
  return extremes;
}

}  // namespace acid

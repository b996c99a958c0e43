#include <algorithm>

#include "engine/base/error.hpp"
#include "engine/topology/elimination.hpp"
#include "engine/topology/lanczos.hpp"
#include "engine/topology/laplacian.hpp"

namespace acid {

std::optional<Extremes> direct_extremes(int workers, std::span<const Edge> rates) {
  constexpr double kBudget = 4e9;
  const auto elimination = Elimination::of(Laplacian(workers, rates), kBudget);
  if (!elimination) return std::nullopt;
  // χ₁ is the largest eigenvalue of Λ⁺: unlike the second smallest of Λ, it is well separated from
  // rounding and from its neighbours in graphs of any size.
  const auto solve = [&](const double* in, double* out) { elimination->solve(in, out); };
  const auto chi1 = largest_eigenvalue(workers, solve, 0, 1e-11);
  ACID_ASSERT(chi1, "no convergence for {} workers", workers);
  return Extremes{1 / *chi1, std::ranges::max(elimination->resistances(rates))};
}

}  // namespace acid

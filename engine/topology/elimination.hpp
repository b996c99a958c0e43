#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/topology/laplacian.hpp"

namespace acid {

/// The star–mesh elimination of a resistor network whose conductances are the rates λᵢⱼ: the
/// sparse Cholesky factorisation of Λ, with pivots formed by adding conductances instead of
/// subtracting from a diagonal (as Grassmann, Taksar & Heyman 1985 did for Markov chains). Nothing
/// ever cancels, so that a ring of 100,000, whose Λ has condition number 10⁹, keeps twelve
/// digits.
///
/// Eliminating worker j with remaining neighbours k, conductances c_k, s = Σ c_k and w_k = c_k/s
/// adds the conductance c_k c_l/s between each pair of them. Immutable once built.
class Elimination {
 public:
  /// Orders by approximate minimum degree and eliminates; only for connected graphs. Absent when
  /// this takes more than `budget` multiply–adds (one takes about a nanosecond).
  static std::optional<Elimination> of(const Laplacian& laplacian, double budget);

  int workers() const { return static_cast<int>(order_.size()); }
  /// out = Λ⁺·in: the potentials of mean zero for the currents `in` less their mean.
  void solve(const double* in, double* out) const;
  /// (eᵢ−eⱼ)ᵀΛ⁺(eᵢ−eⱼ) for each edge; they must be edges of the graph. About as
  /// costly as the elimination itself: resistances are computed on its sparsity pattern only,
  /// backwards, by
  ///   R_jk = 1/s + Σ_l w_l R_lk − ½ Σ_lm w_l w_m R_lm
  /// (Takahashi's selected inversion, written for resistances).
  std::vector<double> resistances(std::span<const Edge> edges) const;

 private:
  Elimination() = default;
  bool eliminate(const Laplacian& laplacian, double budget);

  // Workers are renumbered by their position in the order of elimination.
  std::vector<int> order_;           // worker at a position
  std::vector<int> position_;        // its inverse
  std::vector<std::int64_t> first_;  // column j: [first_[j], first_[j + 1])
  std::vector<int> row_;             // the remaining neighbours of j, ascending positions > j
  std::vector<double> weight_;       // w_k, parallel to row_
  std::vector<double> sum_;          // s; 0 for the last position
};

}  // namespace acid

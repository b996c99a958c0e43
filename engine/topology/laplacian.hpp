#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/topology/topology.hpp"

// Only for this folder and its tests: the methods by which spectral() computes its numbers from Λ.
namespace acid {

/// An index of the type that containers use.
inline std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

/// Λ = Σ λᵢⱼ(eᵢ−eⱼ)(eᵢ−eⱼ)ᵀ by rows, without its diagonal: row i is λᵢⱼ
/// at [first[i], first[i + 1]), in the order given. Immutable once built.
struct Laplacian {
  int workers = 0;
  std::vector<std::int64_t> first;
  std::vector<int> column;
  std::vector<double> rate;
  std::vector<double> diagonal;  // Λᵢᵢ

  /// Rates are Edge::weight, positive; each edge once.
  Laplacian(int worker_count, std::span<const Edge> rates);
  /// out = Λ·in.
  void apply(const double* in, double* out) const;
};

/// The two extremes of which χ₁ and χ₂ are made.
struct Extremes {
  double lambda2 = 0;             // smallest positive eigenvalue of Λ
  double largest_resistance = 0;  // max over edges of (eᵢ−eⱼ)ᵀΛ⁺(eᵢ−eⱼ)
};

/// Fourier sums over the characters of the group that topology.cycles() names (not empty):
/// λ_k = Σ_g λ₀g(1 − cos θ_k(g)) and R(g) = (2/n) Σ_k (1 − cos θ_k(g))/λ_k over
/// neighbours g of worker 0. O(n · degree).
Extremes translation_extremes(const Topology& topology, double rate);

/// By elimination, for connected graphs of at least 2 workers. Absent when the fill would cost more
/// than a few seconds.
std::optional<Extremes> direct_extremes(int workers, std::span<const Edge> rates);

/// By Lanczos and conjugate gradients, for connected graphs of at least 2 workers; spectral.hpp
/// says how exact χ₂ is. Throws Error when Lanczos does not converge.
Extremes iterative_extremes(int workers, std::span<const Edge> rates);

}  // namespace acid

#pragma once

#include <array>
#include <span>
#include <string_view>

#include "engine/topology/topology.hpp"

namespace acid {

/// The numbers that govern gossip on a topology at communication rate r (A²CiD², 2306.08289).
/// Λ = Σ λᵢⱼ(eᵢ−eⱼ)(eᵢ−eⱼ)ᵀ.
struct Spectral {
  double lambda_sum = 0;   // Σ λᵢⱼ = rn/2
  double lambda2 = 0;      // smallest positive eigenvalue of Λ
  double chi1 = 0;         // 1/λ₂
  double chi2 = 0;         // ½ max over edges of (eᵢ−eⱼ)ᵀΛ⁺(eᵢ−eⱼ)
  double eta = 0;          // 1/(2√(χ₁χ₂))
  double alpha_tilde = 0;  // ½√(χ₁/χ₂)

  struct Named {
    std::string_view key, symbol;
    double value;
  };
  std::array<Named, 6> named() const;
};

/// n ≥ 2, rate > 0. Three ways, all without a matrix of n² entries once n is large:
/// * graphs with cycles() (ring, exponential, torus, hypercube, …) and `complete`: Fourier sums,
///   O(n · degree), to rounding;
/// * otherwise sparse elimination (elimination.hpp), which gives every edge's resistance and, with
///   Lanczos on Λ⁺, λ₂; both to 1e-9. Chains, stars, trees and planar-like graphs of 100,000
///   workers take a second or two, and any graph of two thousand workers a few;
/// * where elimination would fill in (large random graphs), Lanczos on Λ and conjugate gradients
///   (iterative.cpp): λ₂ to 1e-6; χ₂ is a lower bound, to 1e-6 where few edges compete for
///   the largest resistance (a bridge, a worker of low degree) and to about 1e-4 where all are
///   nearly equal (a random regular graph). About a minute at most for 100,000 workers.
Spectral spectral(const Topology& topology, double rate);

/// As spectral(), from measured edge rates (λ̂ᵢⱼ ≥ 0 as Edge::weight, each edge at most once; a
/// rate of 0 is no edge), for realised χ̂₁, χ̂₂; never by closed forms. If the realised graph is
/// disconnected, chi1, chi2 and alpha_tilde are infinite and lambda2 and eta are 0. For one worker
/// all numbers are 0.
Spectral spectral_of_rates(int workers, std::span<const Edge> rates);

}  // namespace acid

#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "tests/methods/walk.hpp"

namespace acid::test {

inline constexpr int kWorkers = 8;
inline constexpr std::size_t kDimension = 5;
inline constexpr double kRate = 0.05;

/// fᵢ(x) = ½ Σₖ hᵢₖ (xₖ − bᵢₖ)², different for every worker.
struct Bowls {
  std::vector<std::vector<double>> h, b;
  Bowls();
  std::vector<double> gradient(int worker, const std::vector<double>& x) const;
  /// The minimum of Σ fᵢ.
  std::vector<double> optimum() const;
  Walk::Gradient of_workers() const {
    return [this](int worker, const std::vector<double>& x) { return gradient(worker, x); };
  }
};

/// Walks on a ring of eight, from 0.
Walk walk(std::string_view name, const nlohmann::json& options = nlohmann::json::object(),
          OptimizerSettings optimizer = {});
/// As above with a listing.
Walk walk_listing(const nlohmann::json& listing,
                  const nlohmann::json& options = nlohmann::json::object(),
                  OptimizerSettings optimizer = {});

/// The largest difference between any elements of the workers' models after any of so many legs.
double differ_by(Walk&& a, Walk&& b, int legs = 40);

}  // namespace acid::test

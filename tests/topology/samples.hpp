#pragma once

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/error.hpp"
#include "engine/topology/laplacian.hpp"
#include "engine/topology/topology.hpp"

namespace acid::samples {

/// A topology by name with its fallbacks; `edges` gets a ring with one heavy edge.
inline Topology make(std::string_view kind, int workers, nlohmann::json options = {}) {
  const TopologyEntry* entry = find_topology(kind);
  ACID_ASSERT(entry, "unknown kind {}", kind);
  options["kind"] = std::string(kind);
  if (kind == "edges" && !options.contains("edges")) {
    options["edges"] = nlohmann::json::array({{0, workers - 1, 2.5}});
    for (int i = 1; i < workers; ++i) options["edges"].push_back({i - 1, i});
  }
  return make_topology(workers, with_fallbacks(entry->fields, options));
}

/// Every catalogued topology of a size, except for kinds that refuse it.
inline std::vector<Topology> all_of_size(int workers) {
  std::vector<Topology> all;
  for (const TopologyEntry& entry : topology_catalog()) {
    try {
      all.push_back(make(entry.name, workers));
    } catch (const UsageError&) {
      // Impossible sizes; catalog_test.cpp says which.
    }
  }
  return all;
}

/// A mixing matrix with all its zeros.
inline Eigen::MatrixXd dense(const MixingMatrix& mixing) {
  const auto n = static_cast<Eigen::Index>(mixing.self.size());
  Eigen::MatrixXd matrix = Eigen::MatrixXd::Zero(n, n);
  for (Eigen::Index i = 0; i < n; ++i) {
    const auto row = static_cast<std::size_t>(i);
    matrix(i, i) = mixing.self[row];
    for (const auto& [worker, weight] : mixing.neighbours[row]) matrix(i, worker) += weight;
  }
  return matrix;
}

inline std::vector<Edge> rates_of(const Topology& topology, double rate) {
  std::vector<Edge> rates;
  topology.for_each_edge([&](const Edge& edge) {
    rates.push_back({edge.i, edge.j, topology.edge_rate(edge.i, edge.j, rate)});
  });
  return rates;
}

/// The definitions of docs/SEMANTICS.md, by dense eigenvectors: slow, and independent of the
/// engine.
struct Dense {
  double lambda2 = 0;
  std::vector<double> resistances;  // parallel to the edges given

  Dense(int workers, const std::vector<Edge>& rates) {
    Eigen::MatrixXd laplacian = Eigen::MatrixXd::Zero(workers, workers);
    for (const auto& [i, j, rate] : rates) {
      laplacian(i, i) += rate;
      laplacian(j, j) += rate;
      laplacian(i, j) -= rate;
      laplacian(j, i) -= rate;
    }
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(laplacian);
    lambda2 = solver.eigenvalues()[1];
    for (const Edge& edge : rates) {
      double resistance = 0;
      for (Eigen::Index k = 1; k < workers; ++k) {
        const double difference =
            solver.eigenvectors()(edge.i, k) - solver.eigenvectors()(edge.j, k);
        resistance += difference * difference / solver.eigenvalues()[k];
      }
      resistances.push_back(resistance);
    }
  }
  double largest_resistance() const { return *std::ranges::max_element(resistances); }
};

}  // namespace acid::samples

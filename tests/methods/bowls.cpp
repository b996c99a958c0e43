#include "tests/methods/bowls.hpp"

#include <algorithm>
#include <cmath>

#include "engine/base/rng.hpp"
#include "engine/methods/listed.hpp"
#include "tests/catch.hpp"

namespace acid::test {
namespace {

const Topology& ring_of_eight() {
  static const Topology ring = make_topology(kWorkers, {{"kind", "ring"}});
  return ring;
}

}  // namespace

Bowls::Bowls() {
  Stream stream(33);
  for (int i = 0; i < kWorkers; ++i) {
    h.emplace_back();
    b.emplace_back();
    for (std::size_t k = 0; k < kDimension; ++k) {
      h.back().push_back(0.5 + 1.5 * stream.uniform());
      b.back().push_back(3 * stream.normal());
    }
  }
}

std::vector<double> Bowls::gradient(int worker, const std::vector<double>& x) const {
  const auto i = static_cast<std::size_t>(worker);
  std::vector<double> g;
  for (std::size_t k = 0; k < x.size(); ++k) g.push_back(h[i][k] * (x[k] - b[i][k]));
  return g;
}

std::vector<double> Bowls::optimum() const {
  std::vector<double> x;
  for (std::size_t k = 0; k < kDimension; ++k) {
    double weighted = 0, sum = 0;
    for (std::size_t i = 0; i < h.size(); ++i) {
      weighted += h[i][k] * b[i][k];
      sum += h[i][k];
    }
    x.push_back(weighted / sum);
  }
  return x;
}

Walk walk(std::string_view name, const nlohmann::json& options, OptimizerSettings optimizer) {
  const AlgorithmEntry* const entry = find_algorithm(name);
  REQUIRE(entry != nullptr);
  return {ring_of_eight(), *entry, options, std::vector<double>(kDimension), optimizer};
}

Walk walk_listing(const nlohmann::json& listing, const nlohmann::json& options,
                  OptimizerSettings optimizer) {
  std::vector<Finding> findings;
  const auto read = read_listing(listing, findings);
  for (const Finding& one : findings) UNSCOPED_INFO(one.path << ": " << one.message);
  REQUIRE(read.has_value());
  return {ring_of_eight(), listed_entry(*read), options, std::vector<double>(kDimension),
          optimizer};
}

double differ_by(Walk&& a, Walk&& b, int legs) {
  static const Bowls bowls;
  double largest = 0;
  for (int leg = 0; leg < legs; ++leg) {
    a.go(1, kRate, bowls.of_workers());
    b.go(1, kRate, bowls.of_workers());
    for (std::size_t i = 0; i < a.workers.size(); ++i)
      for (std::size_t k = 0; k < kDimension; ++k)
        largest = std::max(largest, std::abs(a.workers[i].x()[k] - b.workers[i].x()[k]));
  }
  return largest;
}

}  // namespace acid::test

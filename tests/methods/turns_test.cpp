// Differences between exchanges: parts of vectors that take turns, messages that are not always
// sent, peers that take turns. In double precision, compared with rules written separately.
#include <cmath>

#include "engine/base/error.hpp"
#include "engine/methods/listed.hpp"
#include "tests/catch.hpp"
#include "tests/methods/bowls.hpp"

using namespace acid;
using namespace acid::test;
using nlohmann::json;

namespace {

using Rows = std::vector<std::vector<double>>;  // worker, element

Rows zeros() { return Rows(kWorkers, std::vector<double>(kDimension)); }

double mean_at(const Rows& rows, std::size_t k) {
  double sum = 0;
  for (const auto& row : rows) sum += row[k] / kWorkers;
  return sum;
}

double off_by(const Walk& it, const Rows& x) {
  double largest = 0;
  for (int i = 0; i < kWorkers; ++i)
    for (std::size_t k = 0; k < kDimension; ++k)
      largest = std::max(largest, std::abs(it.x(i)[k] - x[static_cast<std::size_t>(i)][k]));
  return largest;
}

Extent extent_of(const char* name, const json& options, std::int64_t number, std::size_t size) {
  return walk(name, options).method.rules.floats->extent(number, size);
}

}  // namespace

TEST_CASE("fragments take turns, are alike but for a few elements, and leave nothing out") {
  for (const std::size_t size : {1u, 2u, 7u, 63u, 64u, 65u, 1000u, 4099u})
    for (const std::size_t parts : {1u, 2u, 3u, 5u, 8u}) {
      INFO(size << " elements in " << parts);
      std::size_t end = 0;
      const auto rounds = static_cast<std::int64_t>(std::min(parts, size));
      for (std::int64_t e = 0; e < rounds; ++e) {
        const Extent part = extent_of("streaming-diloco", {{"fragments", parts}}, e, size);
        CHECK(part.first == end);
        CHECK(part.size() > 0);
        CHECK(part.size() <= size / static_cast<std::size_t>(rounds) + 16);
        if (size >= 8 * parts) CHECK(part.first % 8 == 0);
        end = part.last;
        CHECK(extent_of("streaming-diloco", {{"fragments", parts}}, e + rounds, size).first ==
              part.first);
      }
      CHECK(end == size);
    }
}

TEST_CASE("Streaming DiLoCo's fragments: every part has an outer step of its own") {
  constexpr int kSteps = 4, kDelay = 2, kParts = 2;
  constexpr double kAlpha = 0.3, kEta = 0.7, kBeta = 0.9;
  const Bowls bowls;
  Walk it = walk("streaming-diloco", {{"fragments", kParts},
                                      {"steps", kSteps},
                                      {"delay", kDelay},
                                      {"alpha", kAlpha},
                                      {"eta", kEta},
                                      {"beta", kBeta}});
  Rows x = zeros(), said = zeros();
  std::vector<double> phi(kDimension), m(kDimension);
  const std::size_t border = 2;  // of 5 elements in 2 parts
  std::size_t first = 0, last = 0;
  for (int step = 1; step <= 12 * kSteps; ++step) {
    for (std::size_t i = 0; i < kWorkers; ++i) {
      const auto g = bowls.gradient(static_cast<int>(i), x[i]);
      for (std::size_t k = 0; k < kDimension; ++k) x[i][k] -= kRate * g[k];
    }
    const int round = (step - 1) / kSteps, at = (step - 1) % kSteps + 1;
    if (at == kSteps - kDelay) {
      first = round % kParts == 0 ? 0 : border;
      last = round % kParts == 0 ? border : kDimension;
      for (std::size_t i = 0; i < kWorkers; ++i)
        for (std::size_t k = first; k < last; ++k) said[i][k] = phi[k] - x[i][k];
    }
    if (at == kSteps)
      for (std::size_t k = first; k < last; ++k) {
        const double d = mean_at(said, k);
        m[k] = kBeta * m[k] + d;
        phi[k] -= kEta * (d + kBeta * m[k]);
        for (auto& own : x) own[k] = kAlpha * own[k] + (1 - kAlpha) * phi[k];
      }
    it.go(1, kRate, bowls.of_workers());
    CHECK(off_by(it, x) < 1e-12);
  }
  CHECK(std::abs(phi[0]) > 1e-3);
}

TEST_CASE("scalars and reductions are of the fragment") {
  const json listing = {{"fragments", 2},
                        {"scalars", {{"size", 0}}},
                        {"send", "x"},
                        {"hear", {"size = sum(mine(0))", "x = 0 * mean(0) + size"}}};
  Walk it = walk_listing(listing);
  const Bowls bowls;
  it.go(1, kRate, bowls.of_workers());
  const auto g = bowls.gradient(0, std::vector<double>(kDimension));
  CHECK(it.x(0)[0] == Approx(-kRate * (g[0] + g[1])));
  CHECK(it.x(0)[1] == it.x(0)[0]);
  CHECK(it.x(0)[2] == Approx(-kRate * g[2]));
}

TEST_CASE("DES-LOC averages its moments before it uses them, each as often as it says") {
  constexpr int kX = 2, kM = 3, kV = 4;
  constexpr double kBeta1 = 0.9, kBeta2 = 0.999;
  const Bowls bowls;
  Walk it = walk("des-loc", {{"steps", kX}, {"steps_m", kM}, {"steps_v", kV}});
  Rows x = zeros(), m = zeros(), v = zeros();
  const auto average = [](Rows& rows) {
    for (std::size_t k = 0; k < kDimension; ++k) {
      const double mean = mean_at(rows, k);
      for (auto& row : rows) row[k] = mean;
    }
  };
  for (int t = 1; t <= 60; ++t) {
    for (std::size_t i = 0; i < kWorkers; ++i) {
      const auto g = bowls.gradient(static_cast<int>(i), x[i]);
      for (std::size_t k = 0; k < kDimension; ++k) {
        m[i][k] = kBeta1 * m[i][k] + (1 - kBeta1) * g[k];
        v[i][k] = kBeta2 * v[i][k] + (1 - kBeta2) * g[k] * g[k];
      }
    }
    if (t % kM == 0) average(m);
    if (t % kV == 0) average(v);
    for (std::size_t i = 0; i < kWorkers; ++i)
      for (std::size_t k = 0; k < kDimension; ++k)
        x[i][k] -= kRate / (1 - std::pow(kBeta1, t)) * m[i][k] /
                   (std::sqrt(v[i][k] / (1 - std::pow(kBeta2, t))) + 1e-8);
    if (t % kX == 0) average(x);
    it.go(1, kRate, bowls.of_workers());
    CHECK(off_by(it, x) < 1e-11);
  }
}

TEST_CASE("Gossip-PGA is D-PSGD that hears all workers now and then") {
  const Topology graphs =
      make_topology(kWorkers, {{"kind", "graphs"}, {"graphs", "2 ring, complete"}});
  const json adapts = {{"order", "adapt-then-combine"}};
  const auto cycle = [&] {
    return Walk(graphs, *find_algorithm("d-psgd"), adapts, std::vector<double>(kDimension));
  };
  CHECK(differ_by(walk("gossip-pga", {{"period", 3}}), cycle()) < 1e-13);
  CHECK(differ_by(walk("gossip-pga", {{"period", 1}}), walk("local-sgd", {{"steps", 1}})) == 0);
  CHECK(differ_by(walk("gossip-pga", {{"period", 10'000}}), walk("d-psgd", adapts), 20) < 1e-13);
  CHECK(differ_by(walk("gossip-pga", {{"period", 4}}), cycle()) > 1e-3);
}

TEST_CASE("OSGP where weights are symmetric is D-PSGD, combine-while-adapt") {
  CHECK(differ_by(walk("osgp"), walk("d-psgd")) < 1e-13);
}

TEST_CASE("bytes per gradient are those of what is sent, in the mean") {
  const Topology ring = make_topology(8, {{"kind", "ring"}});
  const auto bytes = [&](const char* name, const json& options) {
    constexpr double kGradients = 8.0 * 6000;  // a multiple of every period below
    return bytes_sent(walk(name, options).method, ring, kGradients, 8000) / kGradients;
  };
  const double all = 2 * 7.0 / 8 * 8000, neighbours = 2 * 8000;
  CHECK(bytes("gossip-pga", {{"period", 4}}) == Approx((3 * neighbours + all) / 4));
  CHECK(bytes("streaming-diloco", {{"steps", 5}, {"fragments", 4}}) == Approx(all / 4 / 5));
  CHECK(bytes("des-loc", {{"steps", 5}, {"steps_m", 10}, {"steps_v", 30}}) ==
        Approx(all * (1.0 / 5 + 1.0 / 10 + 1.0 / 30)));
}

TEST_CASE("counts that make no sense are refused when the method is made") {
  CHECK_THROWS_AS(walk("streaming-diloco", {{"fragments", 1.5}}), UsageError);
  CHECK_THROWS_AS(walk("streaming-diloco", {{"fragments", 0}}), UsageError);
  CHECK_THROWS_AS(walk("gossip-pga", {{"period", 0}}), UsageError);
  CHECK_THROWS_AS(walk("gossip-pga", {{"period", 2.5}}), UsageError);
}

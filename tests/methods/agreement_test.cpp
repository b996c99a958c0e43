// The rate at which workers agree equals what methods say about it.
#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>
#include <utility>

#include "engine/methods/listed.hpp"
#include "tests/catch.hpp"
#include "tests/methods/walk.hpp"

using namespace acid;
using namespace acid::test;

namespace {

// Gradients pull the workers apart once, around a mean that stays 0.
Walk pulled_apart(const Topology& graph, const AlgorithmEntry& entry) {
  Walk it(graph, entry, nlohmann::json::object(), {0.0});
  const int n = graph.workers();
  it.go(1, 1.0, [n](int worker, const std::vector<double>&) {
    return std::vector<double>{worker - 0.5 * (n - 1)};
  });
  return it;
}

double apart(const Walk& it) {
  const double mean = it.mean().front();
  return std::sqrt(it.distance({mean}));
}

Topology changing_graph(const char* kind,
                        const nlohmann::json& options = nlohmann::json::object()) {
  nlohmann::json all = with_fallbacks(find_topology(kind)->fields, options);
  all["kind"] = kind;
  return make_topology(6, all);
}

}  // namespace

TEST_CASE("what a method says that an exchange leaves of differences is what is left") {
  constexpr int kBefore = 30, kExchanges = 150;
  std::size_t known = 0;
  for (const Topology& graph :
       {make_topology(7, {{"kind", "ring"}}), make_topology(5, {{"kind", "star"}})})
    for (const AlgorithmEntry& entry : algorithm_catalog()) {
      if (entry.agreement.empty()) continue;
      INFO(entry.name << " on " << graph.kind());
      ++known;
      Walk it = pulled_apart(graph, entry);
      const auto left =
          left_by_exchange(entry, it.method, mixing_numbers(metropolis_weights(graph)));
      REQUIRE(left.has_value());
      const auto nothing = [](int, const std::vector<double>&) { return std::vector{0.0}; };
      it.go(kBefore, 1.0, nothing);
      const double before = apart(it);
      if (*left == 0) {
        CHECK(before < 1e-15);
        continue;
      }
      REQUIRE(exchanges_per_gradient(it.method) == 1);
      it.go(kExchanges, 1.0, nothing);
      CHECK(std::pow(apart(it) / before, 1.0 / kExchanges) == Approx(*left).epsilon(0.025));
    }
  CHECK(known == 16);
}

TEST_CASE("what an exchange leaves is said only where it is known") {
  const AlgorithmEntry& exact = *find_algorithm("exact-diffusion");
  const Topology changing = changing_graph("one-peer-exponential");
  const MixingNumbers drawn = mixing_numbers(schedule_numbers(*changing.schedule(), 6));
  CHECK(drawn.rho > 0);
  CHECK(drawn.rho < 1);
  nlohmann::json options = with_fallbacks(exact.fields, nlohmann::json::object());
  const Method method = exact.make(options, nullptr);
  CHECK_FALSE(left_by_exchange(exact, method, drawn).has_value());  // reads lambda2
  const AlgorithmEntry& plain = *find_algorithm("d-psgd");
  Method sent = plain.make(with_fallbacks(plain.fields, nlohmann::json::object()), nullptr);
  CHECK(left_by_exchange(plain, sent, drawn) == drawn.rho);
  sent.codec = codec_of({{"kind", "bf16"}}, true);
  CHECK_FALSE(left_by_exchange(plain, sent, drawn).has_value());
  const Topology pushes = changing_graph("epidemic", {{"form", "push"}});
  CHECK(std::isnan(mixing_numbers(schedule_numbers(*pushes.schedule(), 6)).rho));
  const AlgorithmEntry& choco = *find_algorithm("choco-sgd");
  CHECK(choco.agreement.empty());
}

// GASLoC's slowest mode of I - W has z(e + 1) = (λ₂ + ρ) z(e) - ρ z(e - 1).
TEST_CASE("CORRECTNESS 36: on a ring of 16 GASLoC's momentum brings agreement much faster") {
  constexpr int kRing = 16, kExchanges = 60;
  const double angle = 2 * std::numbers::pi / kRing, lambda = (1 + 2 * std::cos(angle)) / 3;
  const Topology ring = make_topology(kRing, {{"kind", "ring"}});
  for (const double rho : {0.0, 0.6}) {
    INFO("rho " << rho);
    Walk it(ring, *find_algorithm("gasloc"), {{"rho", rho}}, {0.0});
    it.go(1, 1.0, [&](int worker, const std::vector<double>&) {
      return std::vector{-std::cos(angle * worker)};
    });
    it.go(kExchanges - 1, 1.0, [](int, const std::vector<double>&) { return std::vector{0.0}; });
    double before = 1, now = lambda + rho;  // the first exchange has momentum from the common start
    for (int e = 1; e < kExchanges; ++e)
      before = std::exchange(now, (lambda + rho) * now - rho * before);
    for (int w = 0; w < kRing; ++w)
      CHECK(it.x(w)[0] == Approx(now * std::cos(angle * w)).margin(1e-15));
    CHECK((rho == 0) == (now * now > 1e-3));
    CHECK((rho == 0.6) == (now * now < 1e-9));
  }
}

// Methods with every optimiser that they accept, compared with plain loops in double precision.
#include <algorithm>
#include <cmath>

#include "engine/methods/listed.hpp"
#include "tests/catch.hpp"
#include "tests/methods/bowls.hpp"

using namespace acid;
using namespace acid::test;
using nlohmann::json;

namespace {

constexpr double kDecay = 0.03;
constexpr int kOptimizerSteps = 30;

using Vector = std::vector<double>;
using Vectors = std::vector<Vector>;  // by worker

/// An optimiser for one worker as in its paper: x ← x after a step along g.
struct Reference {
  OptimizerSettings settings;
  Vector m = Vector(kDimension), v = Vector(kDimension);
  int k = 0;

  void step(Vector& x, Vector g, double rate) {
    ++k;
    const bool adamw = settings.kind == OptimizerKind::adamw;
    if (settings.clip_norm) {
      double squares = 0;
      for (const double one : g) squares += one * one;
      for (double& one : g) one *= std::min(1.0, *settings.clip_norm / (std::sqrt(squares) + 1e-6));
    }
    for (std::size_t e = 0; e < x.size(); ++e) {
      if (adamw)
        x[e] *= 1 - rate * settings.weight_decay;
      else
        g[e] += settings.weight_decay * x[e];
      if (settings.kind == OptimizerKind::sgd) {
        m[e] = settings.momentum * m[e] + g[e];
        x[e] -= rate * (settings.nesterov ? g[e] + settings.momentum * m[e] : m[e]);
        continue;
      }
      m[e] = settings.beta1 * m[e] + (1 - settings.beta1) * g[e];
      v[e] = settings.beta2 * v[e] + (1 - settings.beta2) * g[e] * g[e];
      const double mean = m[e] / (1 - std::pow(settings.beta1, k));
      const double square = v[e] / (1 - std::pow(settings.beta2, k));
      x[e] -= rate * mean / (std::sqrt(square) + settings.epsilon);
    }
  }
};

Vectors averaged_on_ring(const Vectors& x) {
  Vectors mean = x;
  for (std::size_t i = 0; i < x.size(); ++i)
    for (std::size_t e = 0; e < kDimension; ++e)
      mean[i][e] = (x[i][e] + x[(i + 1) % x.size()][e] + x[(i + x.size() - 1) % x.size()][e]) / 3;
  return mean;
}

std::vector<OptimizerSettings> all_optimizers() {
  OptimizerSettings plain, momentum, nesterov, adam, adamw;
  plain.clip_norm = 0.7;
  momentum.momentum = nesterov.momentum = 0.8;
  nesterov.nesterov = true;
  nesterov.weight_decay = adam.weight_decay = adamw.weight_decay = kDecay;
  adam.kind = OptimizerKind::adam;
  adamw.kind = OptimizerKind::adamw;
  adamw.beta1 = 0.85;
  adamw.clip_norm = 2;
  return {plain, momentum, nesterov, adam, adamw};
}

void check_same(const Walk& it, const Vectors& x) {
  for (std::size_t i = 0; i < x.size(); ++i)
    for (std::size_t e = 0; e < kDimension; ++e)
      REQUIRE(it.x(static_cast<int>(i))[e] == Approx(x[i][e]).epsilon(1e-11).margin(1e-13));
}

OptimizerSettings decaying(OptimizerKind kind = OptimizerKind::sgd) {
  OptimizerSettings settings;
  settings.kind = kind;
  settings.weight_decay = kDecay;
  return settings;
}

}  // namespace

TEST_CASE("D-PSGD in both orders takes any optimiser, whose moments are each worker's own") {
  const Bowls bowls;
  for (const bool adapts_first : {false, true})
    for (const OptimizerSettings& optimizer : all_optimizers())
      for (const int workers : {4, kWorkers}) {
        INFO((adapts_first ? "adapt-then-combine" : "combine-while-adapt")
             << ", " << workers << " workers, optimiser " << static_cast<int>(optimizer.kind)
             << ", momentum " << optimizer.momentum);
        const Topology ring = make_topology(workers, {{"kind", "ring"}});
        const json order = {{"order", adapts_first ? "adapt-then-combine" : "combine-while-adapt"}};
        Walk it(ring, *find_algorithm("d-psgd"), order, Vector(kDimension), optimizer);
        const auto n = static_cast<std::size_t>(workers);
        std::vector<Reference> references(n, Reference{.settings = optimizer});
        Vectors x(n, Vector(kDimension));
        for (int k = 0; k < kOptimizerSteps; ++k) {
          const double rate = 0.05 / (1 + 0.1 * k);
          it.go(1, rate, bowls.of_workers());
          const Vectors at = x;  // the gradient is at the model before the average
          if (!adapts_first) x = averaged_on_ring(x);
          for (std::size_t i = 0; i < n; ++i)
            references[i].step(x[i], bowls.gradient(static_cast<int>(i), at[i]), rate);
          if (adapts_first) x = averaged_on_ring(x);
          check_same(it, x);
        }
      }
}

// AccumAdam of Decent-DP: s gradients for each step of the moments; every gradient looks ahead.
// With one it is Adam.
TEST_CASE(
    "CORRECTNESS 27: Decent-Adam is AccumAdam, and decays its model as AdamW or as Adam does") {
  const Bowls bowls;
  const double b1 = 0.9, b2 = 0.999, epsilon = 1e-8;
  for (const int s : {1, 3})
    for (const OptimizerKind kind : {OptimizerKind::adamw, OptimizerKind::adam, OptimizerKind::sgd})
      for (const std::size_t decayed : {std::size_t{0}, std::size_t{2}, kDimension}) {  // elements
        INFO("accumulate " << s << ", optimiser " << static_cast<int>(kind));
        OptimizerSettings optimizer = decaying(kind);
        if (decayed == 0) optimizer.weight_decay = 0;
        Walk it = walk("decent-adam", {{"accumulate", s}}, optimizer);
        if (decayed > 0)  // no_decay: a range of its own
          it.settings.decay = {{0, decayed, kDecay}, {decayed, kDimension, 0}};
        Vectors x(kWorkers, Vector(kDimension)), a = x, m = x, v = x;
        for (int k = 1; k <= kOptimizerSteps; ++k) {
          const double rate = 0.05 / (1 + 0.1 * k), t = std::ceil(k / static_cast<double>(s));
          it.go(1, rate, bowls.of_workers());
          const Vectors at = x;
          x = averaged_on_ring(x);
          for (std::size_t i = 0; i < x.size(); ++i) {
            Vector g = bowls.gradient(static_cast<int>(i), at[i]);
            for (std::size_t e = 0; e < kDimension; ++e) {
              const double decay = e < decayed ? kDecay : 0;
              if (kind == OptimizerKind::adamw)
                x[i][e] *= 1 - rate * decay;
              else
                g[e] += decay * x[i][e];
              a[i][e] += g[e] / s;
              const double m1 = m[i][e] + (1 - b1) * g[e];
              const double v1 = v[i][e] + (1 - b2) * g[e] * g[e];
              x[i][e] -= rate / (1 - std::pow(b1, t)) * m1 /
                         (std::sqrt(v1) / std::sqrt(1 - std::pow(b2, t)) + epsilon);
              if (k % s != 0) continue;
              m[i][e] = b1 * (m[i][e] + (1 - b1) * a[i][e]);
              v[i][e] = b2 * (v[i][e] + (1 - b2) * a[i][e] * a[i][e]);
              a[i][e] = 0;
            }
          }
          check_same(it, x);
        }
      }
}

// So the method follows its paper for the losses with ½λ‖x‖² added.
TEST_CASE("weight decay of a method with a step of its own is a penalty in the workers' losses") {
  const Bowls bowls;
  const auto penalised = [&](int worker, const Vector& x) {
    Vector g = bowls.gradient(worker, x);
    for (std::size_t e = 0; e < x.size(); ++e) g[e] += kDecay * x[e];
    return g;
  };
  std::vector<std::string> tried;
  for (const AlgorithmEntry& entry : algorithm_catalog()) {
    const bool own = entry.optimizers == Optimizers::own || entry.optimizers == Optimizers::sgd;
    if (!own || entry.name == "decent-adam") continue;  // its model moves under the gradient
    INFO(entry.name);
    tried.emplace_back(entry.name);
    Walk decays = walk(entry.name, json::object(), decaying()), plain = walk(entry.name);
    decays.go(kOptimizerSteps, 0.02, bowls.of_workers());
    plain.go(kOptimizerSteps, 0.02, penalised);
    Vectors expected;
    for (int i = 0; i < kWorkers; ++i) expected.push_back(plain.x(i));
    check_same(decays, expected);
    CHECK(decays.workers[0].slots() == plain.workers[0].slots());
  }
  CHECK(tried == std::vector<std::string>{"d2", "des-loc", "diging", "extra", "gradient-tracking",
                                          "qg-dsgdm"});
}

// Momentum is linear, so the mean of all directions is the direction of the mean gradient.
TEST_CASE("gradient tracking, D² and EXTRA with momentum end where all gradients' sum is zero") {
  const Bowls bowls;
  OptimizerSettings optimizer;
  optimizer.momentum = 0.7;
  for (const bool nesterov : {false, true}) {
    optimizer.nesterov = nesterov;
    for (const char* name : {"gradient-tracking", "diging", "extra", "d2"}) {
      INFO(name);
      CHECK(find_algorithm(name)->optimizers == Optimizers::sgd);
      const Topology path = make_topology(5, {{"kind", "complete"}});
      Walk slow(path, *find_algorithm(name), json::object(), Vector(kDimension), optimizer);
      Walk plain(path, *find_algorithm(name), json::object(), Vector(kDimension));
      slow.go(1500, 0.02, bowls.of_workers());
      plain.go(3, 0.02, bowls.of_workers());
      Vector sum(kDimension);
      for (int i = 0; i < 5; ++i)
        for (std::size_t e = 0; e < kDimension; ++e) sum[e] += bowls.gradient(i, slow.x(i))[e];
      for (const double one : sum) CHECK(one == Approx(0).margin(1e-8));
      Walk start(path, *find_algorithm(name), json::object(), Vector(kDimension), optimizer);
      start.go(3, 0.02, bowls.of_workers());
      CHECK(std::abs(start.mean()[0] - plain.mean()[0]) > 1e-4);
    }
  }
}

TEST_CASE("a method with a step of its own keeps none of Adam's moments, nor through a codec") {
  for (const json& codec : {json(), json({{"kind", "bf16"}, {"error_feedback", false}})}) {
    json options = with_fallbacks(find_algorithm("decent-adam")->fields, json::object());
    if (codec.is_object()) options["codec"] = codec;
    const Method method = method_of(*find_algorithm("decent-adam"), options, nullptr);
    CHECK_FALSE(method.rules.floats->steps_by_optimizer());
    WorkerSettings settings;
    settings.optimizer = decaying(OptimizerKind::adamw);
    settings.follow(method.rules);
    CHECK(WorkerLayout<float>(settings).moments() == 0);
    CHECK(settings.decays_own_model());
  }
  WorkerSettings settings;
  settings.optimizer = decaying(OptimizerKind::adamw);
  settings.follow(walk("d-psgd").method.rules);
  CHECK(WorkerLayout<float>(settings).moments() == 2);
  CHECK_FALSE(settings.decays_own_model());
}

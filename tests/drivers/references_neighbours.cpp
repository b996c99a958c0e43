// Methods of rounds whose workers hear their neighbours: gossip, its momentum and its compression.
#include <cmath>

#include "tests/drivers/references.hpp"

namespace acid::test::references {
namespace {

// Lian et al. 2017, 1705.09056, Algorithm 1: x⁺ᵢ = Σⱼ Wᵢⱼ xⱼ − γ gᵢ(xᵢ). Adapt-then-combine, as in
// Sayed's diffusion (1205.4220, eq. 127–128): x⁺ = W (x − γ g).
Rows d_psgd(Rounds& run) {
  const bool adapts_first = run.options().value("order", "") == "adapt-then-combine";
  Rows x = run.start();
  while (run.goes_on()) {
    const Rows step = run.sgd_step(x);
    x = adapts_first ? run.mix(x - step) : Rows(run.mix(x) - step);
  }
  return x;
}

// Chen et al. 2021, 2105.09080, Algorithm 1: the mean of all after every H-th step, else W.
Rows gossip_pga(Rounds& run) {
  const std::int64_t period = run.whole("period");
  Rows x = run.start();
  while (run.goes_on()) {
    const Rows adapted = x - run.sgd_step(x);
    const Matrix weights = run.next_matrix();
    x = run.taken() % period == 0 ? run.mean(adapted) : run.mix(weights, adapted);
  }
  return x;
}

// Assran et al. 2019, 1811.10792, Algorithm 1: gradients at z = x / w; x⁺ = P (x − γ g), w⁺ = P w.
Rows sgp(Rounds& run) {
  Rows x = run.start();
  Vector w(1.0, static_cast<std::size_t>(run.workers()));
  while (run.goes_on()) {
    const Rows adapted = x - run.sgd_step(x / run.as_rows(w));
    const Matrix weights = run.next_matrix();
    x = run.mix(weights, adapted);
    w = run.mix_numbers(weights, w);
  }
  return x / run.as_rows(w);
}

// Ibid., Algorithm 2 with τ = 1: messages sent before the gradient are received after it, so that
// x⁺ = P x − γ g(x / w).
Rows osgp(Rounds& run) {
  Rows x = run.start();
  Vector w(1.0, static_cast<std::size_t>(run.workers()));
  while (run.goes_on()) {
    const Rows step = run.sgd_step(x / run.as_rows(w));
    const Matrix weights = run.next_matrix();
    x = run.mix(weights, x) - step;
    w = run.mix_numbers(weights, w);
  }
  return x / run.as_rows(w);
}

// Yuan et al. 2021, 2104.11981, Algorithm 2 (and eq. 17): g̃ = (x − W (x − γ g)) / γ, m ← β m + g̃,
// x⁺ = x − γ m. At γ = 0 g̃ has no meaning: x⁺ = W x, its limit, and the momentum takes 0 in.
Rows decentlam(Rounds& run, double beta) {
  Rows x = run.start(), m(0.0, x.size());
  while (run.goes_on()) {
    const Rows g = run.gradient(x);
    const double rate = run.rate();
    const Rows mixed = run.mix(x - rate * g);
    m *= beta;
    if (rate == 0) {
      x = mixed;
      continue;
    }
    m += (x - mixed) / rate;
    x -= rate * m;
  }
  return x;
}
Rows decentlam(Rounds& run) { return decentlam(run, run.momentum()); }

// Lin et al. 2021, 2102.04761, Algorithm 1 (QG-DSGDm): x½ = x − γ (μ m + g), x⁺ = W x½,
// m ← μ m + (1 − μ) (x − x⁺) / γ. At γ = 0 the quotient has no meaning: m stays.
Rows qg_dsgdm(Rounds& run) {
  const double mu = run.number("mu");
  Rows x = run.start(), m(0.0, x.size());
  while (run.goes_on()) {
    const Rows g = run.gradient(x);
    const Rows next = run.mix(x - run.rate() * (mu * m + g));
    if (run.rate() != 0) m = mu * m + (1 - mu) / run.rate() * (x - next);
    x = next;
  }
  return x;
}

// Koloskova et al. 2019, 1902.00340, Algorithm 2: x½ = x − γ g, q = Q(x½ − x̂), x̂⁺ = x̂ + q,
// x⁺ = x½ + ρ Σⱼ wᵢⱼ (x̂⁺ⱼ − x̂⁺ᵢ), with x̂ = 0 at first.
Rows choco(Rounds& run) {
  const double rho = run.number("rho"), share = run.options().contains("codec") ? run.share() : 1;
  Rows x = run.start(), known(0.0, x.size());
  while (run.goes_on()) {
    x -= run.sgd_step(x);
    known += run.largest(x - known, share);
    x += rho * (run.mix(known) - known);
  }
  return x;
}

// The order of its authors' code (ChocoSGD, convex_code/logistic.py): x moves towards the estimates
// before the gradient's step; they begin as the message of the start point.
Rows choco_overlapped(Rounds& run) {
  const double rho = run.number("rho"), share = run.options().contains("codec") ? run.share() : 1;
  Rows x = run.start(), known(0.0, x.size());
  while (run.goes_on()) {
    known += run.largest(x - known, share);
    const Rows step = run.sgd_step(x);
    x += rho * (run.mix(known) - known) - step;
  }
  return x;
}

// GASLoC, 2606.11081: y = θ + η (θ_H − θ), θ⁺ = y − α (I − W) y + ρ (y − y₋), where y₋ is θ before
// the first exchange: only so is it Nesterov's method, DiLoCo's, on the complete graph.
Rows gasloc(Rounds& run) {
  const double eta = run.number("eta"), alpha = run.number("alpha"), rho = run.number("rho");
  const std::int64_t steps = run.whole("steps");
  Rows x = run.start(), theta = x, before = x;
  while (run.local_steps(x, steps)) {
    const Rows y = theta + eta * (x - theta);
    theta = y - alpha * (y - run.mix(y)) + rho * (y - before);
    before = y;
    x = theta;
  }
  return x;
}

// Wang et al. 2024, 2410.11998, AccumAdam of its public code (decent_dp/optim.py), k = 1, 2, … and
// T = ⌈k / s⌉: a += g / s, m' = m + (1 − β₁) g, v' = v + (1 − β₂) g², the step of Adam with m', v'
// and T; where s divides k, m ← β₁ (m + (1 − β₁) a), v ← β₂ (v + (1 − β₂) a²), a ← 0. It steps from
// W x with the gradient of x.
Rows decent_adam(Rounds& run) {
  const double beta1 = run.number("beta1"), beta2 = run.number("beta2");
  const double epsilon = run.number("epsilon");
  const std::int64_t s = run.whole("accumulate");
  Rows x = run.start(), m(0.0, x.size()), v = m, a = m;
  while (run.goes_on()) {
    const Rows g = run.gradient(x);
    const auto t = static_cast<double>((run.taken() + s - 1) / s);
    a += g / static_cast<double>(s);
    const Rows m_now = m + (1 - beta1) * g, v_now = v + (1 - beta2) * g * g;
    const Rows corrected = std::sqrt(v_now) / std::sqrt(1 - std::pow(beta2, t)) + epsilon;
    x = run.mix(x) - run.rate() / (1 - std::pow(beta1, t)) * m_now / corrected;
    if (run.taken() % s != 0) continue;
    m = beta1 * (m + (1 - beta1) * a);
    v = beta2 * (v + (1 - beta2) * a * a);
    a = 0;
  }
  return x;
}

const nlohmann::json kTopHalf = {
    {"kind", "top-k"}, {"share", 0.5}, {"chunk", 0}, {"error_feedback", false}};

}  // namespace

std::vector<Reference> with_neighbours() {
  const std::vector<nlohmann::json> one = {kRing, kIrregular};
  const std::vector<nlohmann::json> any = {kRing, kIrregular, kOnePeer};
  const std::vector<nlohmann::json> directed = {kRing, kIrregular, kOnePeer, kPush};
  const auto momentum = [](double beta) { return Variant{.momentum = beta}; };
  return {
      {.method = "d-psgd",
       .rounds = &d_psgd,
       .variants = {{},
                    {.momentum = 0.9, .spread = 1},
                    {.options = {{"order", "adapt-then-combine"}}, .spread = 1},
                    {.options = {{"order", "adapt-then-combine"}}, .momentum = 0.9},
                    {.options = {{"weights", "uniform"}}, .graphs = {kRing}}},
       .graphs = {kRing, kIrregular, kOnePeer, kComplete}},
      {.method = "gossip-pga",
       .rounds = &gossip_pga,
       .variants = {{}, {.options = {{"period", 4}}, .momentum = 0.9}},
       .graphs = any},
      {.method = "sgp", .rounds = &sgp, .variants = {{}, momentum(0.9)}, .graphs = directed},
      {.method = "osgp", .rounds = &osgp, .variants = {{}, momentum(0.9)}, .graphs = directed},
      {.method = "decentlam", .rounds = &decentlam, .variants = {{}, momentum(0.8)}, .graphs = any},
      {.method = "qg-dsgdm",
       .rounds = &qg_dsgdm,
       .variants = {{}, {.options = {{"mu", 0.5}}}},
       .graphs = any},
      {.method = "choco-sgd",
       .rounds = &choco,
       .variants = {{.spread = 1},
                    {.options = {{"rho", 0.6}}, .momentum = 0.9},
                    {.codec = kTopHalf},
                    {.options = {{"rho", 0.1}}, .codec = kTopHalf}},
       .graphs = one},
      {.method = "choco-sgd-overlapped",
       .rounds = &choco_overlapped,
       .variants = {{.spread = 1},
                    {.options = {{"rho", 0.6}}, .momentum = 0.9},
                    {.codec = kTopHalf},
                    {.options = {{"rho", 0.1}}, .codec = kTopHalf}},
       .graphs = one},
      {.method = "gasloc",
       .rounds = &gasloc,
       .variants = {{},
                    {.options = {{"steps", 4}, {"eta", 0.7}, {"alpha", 0.8}, {"rho", 0.5}},
                     .momentum = 0.9}},
       .graphs = {kRing, kIrregular, kComplete}},
      {.method = "decent-adam",
       .rounds = &decent_adam,
       .variants =
           {{},
            {.options = {{"accumulate", 4}, {"beta1", 0.8}, {"beta2", 0.99}, {"epsilon", 1e-4}}}},
       .graphs = any},
  };
}

}  // namespace acid::test::references

// Methods of rounds whose workers hear all, or one drawn worker.
#include <cmath>

#include "tests/drivers/references.hpp"

namespace acid::test::references {
namespace {

// PyTorch's DistributedDataParallel: all take SGD's step by the mean of the gradients.
Rows ar_sgd(Rounds& run) {
  Rows x = run.start();
  while (run.goes_on()) {
    const Rows u = run.direction(run.mean(run.gradient(x)));
    x -= run.rate() * u;
  }
  return x;
}

// Stich 2018, 1805.09767, Algorithm 1: H own steps, then the mean of all models.
Rows local_sgd(Rounds& run) {
  Rows x = run.start();
  while (run.local_steps(x, run.whole("steps"))) x = run.mean(x);
  return x;
}

// Wang et al. 2019, 1910.00643, Algorithm 1: u ← β u + (φ − mean x) / γ, φ ← φ − α γ u, x ← φ, γ
// being that of the last step. At γ = 0 the quotient has no meaning: φ ← mean x, and u stays.
Rows slowmo(Rounds& run) {
  const double alpha = run.number("alpha"), beta = run.number("beta");
  Rows x = run.start(), phi = x, u(0.0, x.size());
  while (run.local_steps(x, run.whole("steps"))) {
    const Rows mean = run.mean(x);
    if (run.rate() == 0) {
      phi = mean;
    } else {
      u = beta * u + (phi - mean) / run.rate();
      phi -= alpha * run.rate() * u;
    }
    x = phi;
  }
  return x;
}

// Douillard et al. 2023, 2311.08105, Algorithm 1, whose outer optimiser is PyTorch's SGD with
// Nesterov momentum: d = φ − mean x, m ← β m + d, φ ← φ − η (d + β m), x ← φ.
Rows diloco(Rounds& run) {
  const double eta = run.number("eta"), beta = run.number("beta");
  Rows x = run.start(), phi = x, m(0.0, x.size());
  while (run.local_steps(x, run.whole("steps"))) {
    const Rows d = phi - run.mean(x);
    m = beta * m + d;
    phi -= eta * (d + beta * m);
    x = phi;
  }
  return x;
}

// Douillard et al. 2025, 2501.18512, Algorithm 2: fragments take turns; a fragment's φ − x, taken τ
// steps before the end of its round, moves φ by Nesterov's step, and x ← α x + (1 − α) φ there.
Rows streaming_diloco(Rounds& run) {
  const double alpha = run.number("alpha"), eta = run.number("eta"), beta = run.number("beta");
  const std::int64_t steps = run.whole("steps"), delay = run.whole("delay");
  const auto parts = static_cast<std::size_t>(run.whole("fragments"));
  const std::size_t size = run.dimension() / parts;  // the variants' divide it
  Rows x = run.start(), phi = x, m(0.0, x.size());
  for (std::size_t turn = 0; run.local_steps(x, steps - delay); turn = (turn + 1) % parts) {
    const Rows said = phi - x;
    if (!run.local_steps(x, delay)) break;
    const Rows d = run.mean(said);
    for (std::size_t k = 0; k < x.size(); ++k) {
      if (k % run.dimension() / size != turn) continue;
      m[k] = beta * m[k] + d[k];
      phi[k] -= eta * (d[k] + beta * m[k]);
      x[k] = alpha * x[k] + (1 - alpha) * phi[k];
    }
  }
  return x;
}

// Iacob et al. 2025, 2505.22549, Algorithm 1 with Adam: in step t the new moments are averaged over
// all workers where their periods divide t, then the step is taken, then x is where its period
// does. K_m = 3 K and K_v = 6 K unless they are given.
Rows des_loc(Rounds& run) {
  const double beta1 = run.number("beta1"), beta2 = run.number("beta2");
  const double epsilon = run.number("epsilon");
  const std::int64_t period = run.whole("steps");
  const std::int64_t given_m = run.whole("steps_m"), given_v = run.whole("steps_v");
  const std::int64_t period_m = given_m > 0 ? given_m : 3 * period;
  const std::int64_t period_v = given_v > 0 ? given_v : 6 * period;
  Rows x = run.start(), m(0.0, x.size()), v = m;
  while (run.goes_on()) {
    const Rows g = run.gradient(x);
    const std::int64_t t = run.taken();
    m = beta1 * m + (1 - beta1) * g;
    v = beta2 * v + (1 - beta2) * g * g;
    if (t % period_m == 0) m = run.mean(m);
    if (t % period_v == 0) v = run.mean(v);
    const Rows m_hat = m / (1 - std::pow(beta1, t)), v_hat = v / (1 - std::pow(beta2, t));
    x -= run.rate() * m_hat / (std::sqrt(v_hat) + epsilon);
    if (t % period == 0) x = run.mean(x);
  }
  return x;
}

// LOSCAR-SGD, 2605.20866: y after all but the last D of H steps is sent, and these steps lead from
// it to z; x = mean y + (z − y).
Rows loscar(Rounds& run) {
  const std::int64_t steps = run.whole("steps"), delay = run.whole("delay");
  Rows x = run.start();
  while (run.local_steps(x, steps - delay)) {
    const Rows said = x;
    if (!run.local_steps(x, delay)) break;
    x += run.mean(said) - said;
  }
  return x;
}

// Sarfi et al. 2025, 2508.15706, Algorithm 1: e ← β e + (φ − x), Δ̂ = TopK(e), e ← e − Δ̂, φ ← φ −
// α mean Δ̂, x ← φ. Messages are not quantised here.
Rows sparseloco(Rounds& run) {
  const double alpha = run.number("alpha"), beta = run.number("beta");
  const double share = run.options().contains("codec") ? run.share() : 1;
  Rows x = run.start(), phi = x, e(0.0, x.size());
  while (run.local_steps(x, run.whole("steps"))) {
    e = beta * e + (phi - x);
    const Rows sent = run.largest(e, share);
    e -= sent;
    phi -= alpha * run.mean(sent);
    x = phi;
  }
  return x;
}

// SPARTA, openreview:stFPf3gzq1: after every step a few coordinates, the same for all workers,
// become their mean.
Rows sparta(Rounds& run) {
  Rows x = run.start();
  while (run.local_steps(x, 1)) {
    const Rows mean = run.mean(x);
    const Vector chosen = run.next_mask();
    for (std::size_t k = 0; k < x.size(); ++k)
      if (chosen[k % run.dimension()] != 0) x[k] = mean[k];
  }
  return x;
}

// Kolehmainen et al. 2025, 2506.10911, eq. 2–3 as in its code: two drawn workers do m ← β m + η
// avg(x − φ) + η (avg φ − φ), φ ← φ + m, x ← φ. A worker alone is its own average.
Rows noloco(Rounds& run) {
  const double eta = run.number("eta"), beta = run.number("beta");
  Rows x = run.start(), phi = x, m(0.0, x.size());
  while (run.local_steps(x, run.whole("steps"))) {
    const Matrix pairs = run.next_matrix();
    m = beta * m + eta * run.mix(pairs, x - phi) + eta * (run.mix(pairs, phi) - phi);
    phi += m;
    x = phi;
  }
  return x;
}

// Nadiradze et al. 2019, 1910.12308, Algorithm 1 with a fixed number of steps: H of both, then
// their average. As many workers as possible have a partner here at once.
Rows swarm_fixed(Rounds& run) {
  Rows x = run.start();
  while (run.local_steps(x, run.whole("steps"))) x = run.mix(x);
  return x;
}

// Ibid., Algorithm 2: x ← ½ (s + s') − h, with the models s before the steps h.
Rows swarm_fixed_nonblocking(Rounds& run) {
  Rows x = run.start();
  while (run.goes_on()) {
    const Rows said = x;
    if (!run.local_steps(x, run.whole("steps"))) break;
    const Rows h = said - x;
    x = run.mix(said) - h;
  }
  return x;
}

nlohmann::json top_k(double share) {
  return {{"kind", "top-k"}, {"share", share}, {"chunk", 0}, {"error_feedback", false}};
}

nlohmann::json random_k(double share) {
  return {{"kind", "random-k"}, {"share", share}, {"common", true}, {"error_feedback", false}};
}

// A run of rounds of 7 steps ends within a round.
const nlohmann::json kSeven = {{"steps", 7}};

}  // namespace

std::vector<Reference> with_all_workers() {
  const std::vector<nlohmann::json> one = {kRing};
  return {
      {.method = "ar-sgd",
       .rounds = &ar_sgd,
       .variants = {{}, {.momentum = 0.9, .spread = 1}},
       .graphs = one},
      {.method = "local-sgd",
       .rounds = &local_sgd,
       .variants = {{}, {.options = kSeven, .momentum = 0.9, .spread = 1}},
       .graphs = one},
      {.method = "slowmo",
       .rounds = &slowmo,
       .variants = {{},
                    {.options = {{"steps", 4}, {"alpha", 0.7}, {"beta", 0.5}}, .momentum = 0.9},
                    {.options = {{"steps", 1}}},
                    {.options = kSeven}},
       .graphs = one},
      {.method = "diloco",
       .rounds = &diloco,
       .variants = {{},
                    {.options = {{"steps", 4}, {"eta", 0.5}, {"beta", 0.6}}, .momentum = 0.9},
                    {.options = kSeven}},
       .graphs = one},
      {.method = "streaming-diloco",
       .rounds = &streaming_diloco,
       .variants = {{},
                    {.options = {{"steps", 5},
                                 {"delay", 2},
                                 {"alpha", 0.3},
                                 {"fragments", 2},
                                 {"eta", 0.5},
                                 {"beta", 0.6}},
                     .momentum = 0.9,
                     .dimension = 16},
                    {.options = {{"steps", 7}, {"delay", 0}, {"alpha", 0}}}},
       .graphs = one},
      {.method = "des-loc",
       .rounds = &des_loc,
       .variants = {{},
                    {.options = {{"steps", 2},
                                 {"steps_m", 3},
                                 {"steps_v", 4},
                                 {"beta1", 0.8},
                                 {"beta2", 0.99},
                                 {"epsilon", 1e-4}}}},
       .graphs = one},
      {.method = "loscar-sgd",
       .rounds = &loscar,
       .variants = {{}, {.options = {{"steps", 7}, {"delay", 2}}, .momentum = 0.9, .spread = 1}},
       .graphs = one},
      {.method = "sparseloco",
       .rounds = &sparseloco,
       .variants = {{},
                    {.codec = top_k(0.5)},
                    {.options = {{"steps", 4}, {"alpha", 0.7}, {"beta", 0.8}},
                     .momentum = 0.9,
                     .codec = top_k(1.0 / 3)}},
       .graphs = one},
      {.method = "sparta",
       .rounds = &sparta,
       .variants = {{.spread = 1}, {.momentum = 0.9, .codec = random_k(0.5)}},
       .graphs = one},
  };
}

std::vector<Reference> with_partners() {
  const std::vector<nlohmann::json> one = {kRing, kIrregular};
  return {
      {.method = "noloco",
       .rounds = &noloco,
       .variants = {{.gradients = 120},
                    {.options = {{"steps", 4}, {"eta", 0.6}, {"beta", 0.3}}, .momentum = 0.9}},
       .graphs = one},
      {.method = "swarm-sgd-fixed",
       .rounds = &swarm_fixed,
       .variants = {{}, {.options = {{"steps", 7}}, .momentum = 0.9, .spread = 1}},
       .graphs = one},
      {.method = "swarm-sgd-fixed-nonblocking",
       .rounds = &swarm_fixed_nonblocking,
       .variants = {{}, {.options = {{"steps", 7}}, .momentum = 0.9, .spread = 1}},
       .graphs = one},
  };
}

}  // namespace acid::test::references

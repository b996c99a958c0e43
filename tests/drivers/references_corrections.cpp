// Methods of rounds that correct the bias of gossip by earlier values.
#include "tests/drivers/references.hpp"

namespace acid::test::references {
namespace {

// Tang et al. 2018, 1803.07068, Algorithm 1: x½ = 2 xₜ − xₜ₋₁ − γₜ gₜ + γₜ₋₁ gₜ₋₁, xₜ₊₁ = W x½;
// first x₁ = W (x₀ − γ₀ g₀). What is subtracted is the step that was taken, under a schedule too.
Rows d2(Rounds& run) {
  Rows x = run.start(), before = x, step_before(0.0, x.size());
  while (run.goes_on()) {
    const Rows g = run.gradient(x);
    const Rows step = run.rate() * g;
    const Rows next = run.mix(2.0 * x - before - step + step_before);
    before = x;
    step_before = step;
    x = next;
  }
  return x;
}

// Yuan et al. 2017, 1702.05122, Algorithm 1: ψ⁺ = x − μ g, φ = ψ⁺ + x − ψ, x⁺ = ½ (I + W) φ, with
// ψ = x at first.
Rows exact_diffusion(Rounds& run) {
  Rows x = run.start(), psi = x;
  while (run.goes_on()) {
    const Rows adapted = x - run.sgd_step(x);
    const Rows corrected = adapted + x - psi;
    psi = adapted;
    x = 0.5 * (corrected + run.mix(corrected));
  }
  return x;
}

// Shi et al. 2014, 1404.6264, Algorithm 1: x¹ = W x⁰ − α g⁰,
// xᵏ⁺² = (I + W) xᵏ⁺¹ − ½ (I + W) xᵏ − α (gᵏ⁺¹ − gᵏ). Under a schedule α g is the step that was
// taken.
Rows extra(Rounds& run) {
  Rows x = run.start(), before = x, mixed_before(0.0, x.size()), step_before = mixed_before;
  bool first = true;
  while (run.goes_on()) {
    const Rows g = run.gradient(x);
    const Rows step = run.rate() * g, mixed = run.mix(x);
    Rows next = mixed - step;
    if (!first) next += x - 0.5 * (before + mixed_before) + step_before;
    first = false;
    before = x;
    mixed_before = mixed;
    step_before = step;
    x = next;
  }
  return x;
}

// Nedić, Olshevsky, Shi 2016, 1607.03218, eq. 2b: y⁺ = W y + g⁺ − g, with y = g at first; and x⁺ =
// W (x − γ y) where their 2a has W x − γ y: relaysgd's gradient tracking.
Rows gradient_tracking(Rounds& run) {
  Rows x = run.start(), y(0.0, x.size()), g_before = y;
  while (run.goes_on()) {
    const Rows g = run.gradient(x);
    y += g - g_before;
    g_before = g;
    const Matrix weights = run.next_matrix();
    x = run.mix(weights, x - run.rate() * y);
    y = run.mix(weights, y);
  }
  return x;
}

// Ibid., eq. 2: x⁺ = W x − α y, y⁺ = W y + g⁺ − g. Under a schedule α is that of the step it takes.
Rows diging(Rounds& run) {
  Rows x = run.start(), y(0.0, x.size()), g_before = y;
  while (run.goes_on()) {
    const Rows g = run.gradient(x);
    const Matrix weights = run.next_matrix();
    y += g - g_before;
    g_before = g;
    x = run.mix(weights, x) - run.rate() * y;
    y = run.mix(weights, y);
  }
  return x;
}

}  // namespace

std::vector<Reference> with_corrections() {
  const std::vector<nlohmann::json> one = {kRing, kIrregular};
  const auto from = [](double spread) { return Variant{.spread = spread}; };
  return {
      {.method = "d2", .rounds = &d2, .variants = {{}, from(1)}, .graphs = one},
      {.method = "exact-diffusion",
       .rounds = &exact_diffusion,
       .variants = {{}, {.momentum = 0.9, .spread = 1}},
       .graphs = one},
      {.method = "extra", .rounds = &extra, .variants = {{}, from(1)}, .graphs = one},
      {.method = "gradient-tracking",
       .rounds = &gradient_tracking,
       .variants = {{}, from(1)},
       .graphs = {kRing, kIrregular, kOnePeer}},
      {.method = "diging",
       .rounds = &diging,
       .variants = {{}, from(1)},
       .graphs = {kRing, kIrregular, kOnePeer}},
  };
}

}  // namespace acid::test::references

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>

#include "engine/base/error.hpp"
#include "engine/topology/lanczos.hpp"
#include "engine/topology/laplacian.hpp"

namespace acid {
namespace {

/// λ₂ from c·I − Λ, where c is at least the largest eigenvalue of Λ: on vectors of mean
/// zero its largest eigenvalue is c − λ₂.
double lambda2_of(const Laplacian& laplacian) {
  // Gershgorin: no eigenvalue exceeds twice the largest diagonal entry.
  const double c = 2 * std::ranges::max(laplacian.diagonal);
  const auto reflected = [&](const double* in, double* out) {
    laplacian.apply(in, out);
    for (int i = 0; i < laplacian.workers; ++i) out[i] = c * in[i] - out[i];
  };
  const auto largest = largest_eigenvalue(laplacian.workers, reflected, c, 1e-8);
  if (!largest) {
    throw Error(fmt::format(
        "the spectral gap of this topology of {} workers could not be found: the graph is both too "
        "dense to eliminate and too badly connected to iterate on; use fewer workers",
        laplacian.workers));
  }
  return c - *largest;
}

struct Bounds {
  double lower = 0;
  double upper = std::numeric_limits<double>::infinity();
};

/// Conjugate gradients on Λv = eᵢ − eⱼ. After k steps only workers within k hops are touched, and
/// only they cost time. The resistance is at least Σ α‖r‖² over the steps taken (Hestenes & Stiefel
/// 1952), and at most that + ‖r‖²/λ₂ since Λ⁺ ≤ 1/λ₂.
class Resistance {
 public:
  Resistance(const Laplacian& laplacian, double lambda2)
      : laplacian_(laplacian),
        lambda2_(lambda2),
        residual_(laplacian.diagonal.size()),
        direction_(residual_.size()),
        image_(residual_.size()),
        touched_(residual_.size()) {}

  /// Iterates until the bounds agree to 1e-8, the upper bound is no larger than `uninteresting`, or
  /// another step would use more than `work` matrix entries in all.
  Bounds bounds(const Edge& edge, double uninteresting, double work) {
    start(edge);
    Bounds result;
    double square = 2, used = 0;
    while (used + entries_ <= work) {
      used += entries_;
      multiply();
      double curvature = 0;
      for (const int v : workers_) curvature += direction_[at(v)] * image_[at(v)];
      const double step = square / curvature;
      result.lower += step * square;
      double next_square = 0;
      for (const int v : workers_) {
        residual_[at(v)] -= step * image_[at(v)];
        next_square += residual_[at(v)] * residual_[at(v)];
        image_[at(v)] = 0;
      }
      result.upper = result.lower + next_square / lambda2_;
      if (result.upper <= std::max(uninteresting, result.lower * (1 + 1e-8))) break;
      for (const int v : workers_) {
        direction_[at(v)] = residual_[at(v)] + next_square / square * direction_[at(v)];
      }
      square = next_square;
    }
    clear();
    return result;
  }

 private:
  void touch(int v) {
    if (touched_[at(v)]) return;
    touched_[at(v)] = true;
    workers_.push_back(v);
    entries_ += static_cast<double>(laplacian_.first[at(v) + 1] - laplacian_.first[at(v)]);
  }
  void start(const Edge& edge) {
    touch(edge.i);
    touch(edge.j);
    residual_[at(edge.i)] = direction_[at(edge.i)] = 1;
    residual_[at(edge.j)] = direction_[at(edge.j)] = -1;
  }
  /// image = Λ·direction
  void multiply() {
    const std::size_t reached = workers_.size();  // grows below, where the direction is still 0
    for (std::size_t a = 0; a < reached; ++a) {
      const int v = workers_[a];
      image_[at(v)] += laplacian_.diagonal[at(v)] * direction_[at(v)];
      for (auto k = laplacian_.first[at(v)]; k < laplacian_.first[at(v) + 1]; ++k) {
        const int neighbour = laplacian_.column[at(k)];
        touch(neighbour);
        image_[at(neighbour)] -= laplacian_.rate[at(k)] * direction_[at(v)];
      }
    }
  }
  void clear() {
    for (const int v : workers_) {
      residual_[at(v)] = direction_[at(v)] = image_[at(v)] = 0;
      touched_[at(v)] = false;
    }
    workers_.clear();
    entries_ = 0;
  }

  const Laplacian& laplacian_;
  double lambda2_;
  std::vector<double> residual_, direction_, image_;
  std::vector<char> touched_;
  std::vector<int> workers_;  // the touched workers, in order of first touch
  double entries_ = 0;        // in the rows of these workers: the cost of the next step
};

/// λᵢⱼ in series with everything else shorted: a lower bound that costs nothing, used to meet
/// the largest resistances first.
double shorted_resistance(const Laplacian& laplacian, const Edge& edge) {
  const double i = laplacian.diagonal[at(edge.i)] - edge.weight;
  const double j = laplacian.diagonal[at(edge.j)] - edge.weight;
  const double around = i > 0 && j > 0 ? 1 / (1 / i + 1 / j) : 0;
  return 1 / (edge.weight + around);
}

struct Candidate {
  Edge edge;
  Bounds bounds;
};

void sort_largest_first(std::vector<Candidate>& candidates, double Bounds::*by) {
  std::ranges::stable_sort(candidates, std::greater(),
                           [by](const Candidate& candidate) { return candidate.bounds.*by; });
}

/// Branch and bound: a few local steps settle or exclude most edges; among the others, those that
/// could be largest are solved to the end.
double largest_resistance(const Laplacian& laplacian, std::span<const Edge> rates, double lambda2) {
  constexpr double kLocalWork = 2e9;
  constexpr std::size_t kSolved = 32;
  std::vector<Candidate> candidates;
  candidates.reserve(rates.size());
  for (const Edge& edge : rates) {
    const double parallel = 1 / edge.weight;  // the rest of the graph only lowers it
    candidates.push_back({edge, {shorted_resistance(laplacian, edge), parallel}});
  }
  sort_largest_first(candidates, &Bounds::lower);
  double best = candidates.front().bounds.lower;
  Resistance resistance(laplacian, lambda2);
  const auto refine = [&](Candidate& candidate, double work) {
    if (candidate.bounds.upper <= best * (1 + 1e-8)) return;
    const Bounds found = resistance.bounds(candidate.edge, best, work);
    auto& [lower, upper] = candidate.bounds;
    upper = std::min(upper, found.upper);
    lower = std::max(lower, std::min(found.lower, upper));  // rounding can make the bounds cross
    best = std::max(best, lower);
  };
  const double share = kLocalWork / static_cast<double>(rates.size());
  for (Candidate& candidate : candidates) refine(candidate, share);
  std::erase_if(candidates, [&](const Candidate& c) { return c.bounds.upper <= best; });
  // By upper bound for a bridge between dense parts, by lower bound when the upper bounds are
  // loose.
  for (const auto by : {&Bounds::upper, &Bounds::lower}) {
    sort_largest_first(candidates, by);
    for (std::size_t c = 0; c < std::min(candidates.size(), kSolved); ++c) {
      refine(candidates[c], std::numeric_limits<double>::infinity());
    }
  }
  return best;
}

}  // namespace

Extremes iterative_extremes(int workers, std::span<const Edge> rates) {
  const Laplacian laplacian(workers, rates);
  const double lambda2 = lambda2_of(laplacian);
  return {lambda2, largest_resistance(laplacian, rates, lambda2)};
}

}  // namespace acid

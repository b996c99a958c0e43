#pragma once

#include <map>
#include <string>

#include "store/queries.hpp"

namespace acid {

/// In RunRounding::starts, the key of the target's metric.
inline constexpr const char* kTargetStart = "target";

/// How far the rounding of 32-bit parameters moves the results of a run: smaller differences say
/// nothing about methods, because the order of sums decides them.
///
/// With u = 2⁻²⁴ and x the size of the parameters, every step and every exchange rounds each
/// parameter, by u·x at most and in no direction. After K of them, steps and exchanges of a worker
/// together, these errors have moved the workers' mean by a random walk,
///
///   ε·x,  ε = 4 · u · √(K/m) · R,
///
/// four of its standard deviations. m: the number of workers over which the errors average out: all
/// of them unless all-reduces give every worker the same. R = 1, except for methods of rounds with
/// neighbours that keep vectors: these correct the steps by their vectors, so that an error there
/// enters every step until the gradient works against it, R = min(steps, 1/(learning rate ·
/// curvature)), curvature 1 if the task does not name it. Gradient tracking is such a method;
/// EXTRA, exact diffusion, D² and CHOCO-SGD, which sum pulls with the digits of two, are not.
///
/// A loss L whose value at parameters that are off by their whole size is about S, the larger of L
/// and of the loss that the run started with, is then moved by at most
///
///   ΔL = 2·ε·√(L·S) + ε²·S,
///
/// since its slope there is about √(L·S) and its curvature about S: near an optimum the second term
/// is all there is. Where gradients take errors back, less is left of them. How fast they do in the
/// flattest direction is not known of a task, and errors in vectors that a method keeps are not
/// taken back, so that nothing is taken off for it. Other metrics have S = L. When a target was
/// reached moves by ΔL of the target, divided by the slope of the curve there. Evaluations compute
/// in 64 bits and add nothing.
struct RunRounding {
  double steps = 0, exchanges = 0;         // of a worker
  double round = 0;                        // of the gradients, that one round of all workers is
  double parameters = 0;                   // ε
  std::map<std::string, double> starts;    // first sample of an outcome, and of the target's metric
  std::map<std::string, double> per_unit;  // for *_to_target: per unit of the target's metric

  /// Keeps the larger of two runs in everything.
  void take_worse(const RunRounding& other);
};

/// Steps, exchanges and ε of a run with these settings. Missing settings count as none.
RunRounding rounding_of(const RunSummary& run, const nlohmann::json& settings);

/// ΔL of two results of one metric, whose errors add. 0 for counted or timed metrics, except that
/// methods of rounds complete the last one: gradients per second may differ by it. `target`: the
/// value of *_to_target.
double rounding_floor(const RunRounding& a, const RunRounding& b, const std::string& metric,
                      double value_a, double value_b, double target);

}  // namespace acid

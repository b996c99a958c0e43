#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/worker/objective.hpp"

namespace acid {

enum class OptimizerKind { sgd, adam, adamw, muon };

/// How a gradient becomes a step, as in torch.optim.SGD (dampening 0), Adam and AdamW; for Muon and
/// clipping see engine/worker/direction.hpp.
struct OptimizerSettings {
  OptimizerKind kind = OptimizerKind::sgd;
  double momentum = 0;
  bool nesterov = false;
  double weight_decay = 0;
  bool decay_one_dimensional = true;       // false: no weight decay for biases and norms
  std::vector<std::string> no_decay = {};  // none either for names that contain one of these
  std::optional<double> clip_norm = {};    // the largest norm of a gradient
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  // Muon: matrices that take SGD's step instead, by name, and the factor of that step.
  std::vector<std::string> sgd_tensors = {};
  double sgd_scale = 1;
};

/// Whether a tensor's name contains one of the texts.
bool is_named(std::string_view tensor, std::span<const std::string> texts);

/// A range of parameters that share one weight decay.
struct DecayRange {
  std::size_t begin = 0, end = 0;
  double decay = 0;
};
/// Covers [0, dimension) in order; neighbouring segments with equal decay are joined.
std::vector<DecayRange> decay_ranges(const OptimizerSettings& settings,
                                     std::span<const Segment> segments, std::size_t dimension);

/// A tensor that Muon makes orthogonal, as a matrix: first extent × product of the others.
struct MatrixRange {
  std::size_t begin = 0, rows = 0, columns = 0;
};
/// In ascending order; empty unless the optimiser is Muon.
std::vector<MatrixRange> matrix_ranges(const OptimizerSettings& settings,
                                       std::span<const Segment> segments);

enum class ScheduleKind { constant, step, cosine, inverse_sqrt };

/// Learning rate as a function of global progress, so that a slow worker and a fast one use the
/// same rate at the same moment.
struct Schedule {
  ScheduleKind kind = ScheduleKind::constant;
  double learning_rate = 0.05;
  std::vector<double> milestones;  // step: fractions of the budget, ascending
  double gamma = 0.1;              // step: factor at each milestone
  double minimum = 0;              // cosine: final factor
  double warmup = 0;               // fraction of the budget over which the factor rises linearly
  std::optional<double> warmup_from = {};  // start of warm-up, as a share of the rate at its end
  double scale = 1;  // B·n/reference for linear scaling (Goyal et al. 2017), else 1

  /// Factor × scale × learning_rate at progress ∈ [0, 1] (gradients of all workers ÷ budget).
  /// Warm-up starts from the share `warmup_from`; without one from learning_rate if scale > 1
  /// (Goyal et al. §2.2), otherwise from 0. inverse_sqrt decays as √(warmup/progress) after it.
  double rate(double progress) const;
};

}  // namespace acid

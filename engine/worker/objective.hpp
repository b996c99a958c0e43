#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace acid {

/// One named parameter tensor inside the flat vector of parameters.
struct Segment {
  std::string name;
  std::vector<std::int64_t> shape;
  std::int64_t offset = 0;  // in elements
  std::int64_t size = 0;
};

/// What a model is evaluated on.
enum class EvaluationSet {
  test,
  /// A fixed sample of all workers' training data (training_sample() of engine/data/dataset.hpp),
  /// or all of it where that costs no more. The loss includes regularisation, but no noise.
  training,
  /// Training examples that were held out from gradients.
  validation,
};

/// A sum over one chunk of an evaluation set.
struct PartialEvaluation {
  double loss_sum = 0;
  std::int64_t correct = 0;
  std::int64_t count = 0;
  /// Sums of the further means, in the order of Objective::evaluated_names().
  std::vector<double> named = {};
};

/// Called when elements [first, last) of a gradient are final, by the thread that computes it,
/// which then goes on.
using GradientReady = std::function<void(std::size_t first, std::size_t last)>;

/// What is being trained: start points, stochastic gradients and evaluation. Knows nothing of time,
/// topology or algorithms.
///
/// Threads: start() and the const members may be called from any thread. gradient() and evaluate()
/// use the scratch space of a lane: at most one thread at a time per lane, 0 ≤ lane < the lane
/// count the objective was made with. Results never depend on the lane.
class Objective {
 public:
  virtual ~Objective() = default;

  /// Number of parameters, d.
  virtual std::size_t dimension() const = 0;
  /// Floats of per-worker model state that is not trained (batch-norm running statistics).
  virtual std::size_t buffer_size() const { return 0; }
  /// Tensors that make up the parameters, in order, covering [0, d).
  virtual std::vector<Segment> segments() const = 0;
  virtual std::vector<Segment> buffer_segments() const { return {}; }

  /// Worker's start point and buffers. The same for all workers unless the task says otherwise.
  virtual void start(int worker, std::span<float> x, std::span<float> buffers) const = 0;

  /// Gradient of worker's minibatch number `step` (0, 1, …: a pure function of the run's seeds,
  /// worker and step) at parameters x, written to g; returns the minibatch loss. May update
  /// `buffers`, the worker's own.
  virtual double gradient(int lane, int worker, std::int64_t step, std::span<const float> x,
                          std::span<float> buffers, std::span<float> g) = 0;

  /// The same gradient, bit for bit. Calls `ready`, unless it is empty, for elements that are final
  /// while others are being computed: each at most once, in the order of the backward pass, so
  /// roughly from the last element to the first. The others are final on return.
  virtual double gradient_in_parts(int lane, int worker, std::int64_t step,
                                   std::span<const float> x, std::span<float> buffers,
                                   std::span<float> g, const GradientReady& /*ready*/) {
    return gradient(lane, worker, step, x, buffers, g);
  }

  /// A set is cut into this many fixed chunks; callers add them up in chunk order, so the result
  /// does not depend on how many threads evaluate.
  virtual int evaluation_chunks(EvaluationSet set) const = 0;
  virtual PartialEvaluation evaluate(int lane, EvaluationSet set, int chunk,
                                     std::span<const float> x, std::span<const float> buffers) = 0;
  /// Whether gradients are computed by the calling thread; else it waits for another process.
  virtual bool computes_here() const { return true; }
  /// False: `correct` is meaningless and no accuracy is reported.
  virtual bool has_accuracy() const = 0;
  /// Whether EvaluationSet::validation has examples.
  virtual bool has_validation() const { return false; }
  /// Names of further means that evaluations give: recorded as eval_NAME and validation_NAME.
  virtual std::vector<std::string> evaluated_names() const { return {}; }
  /// Number of training examples that each worker draws from, [worker][class]; one number per
  /// worker if examples have no class. Empty: gradients are not of examples.
  virtual std::vector<std::vector<std::int64_t>> holdings() const { return {}; }
};

}  // namespace acid

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "engine/worker/backend.hpp"
#include "engine/worker/optimizer.hpp"
#include "engine/worker/rule.hpp"

namespace acid {

/// What all workers of a run share; outlives them.
struct WorkerSettings {
  std::size_t dimension = 0;
  std::size_t buffer_size = 0;  // floats
  Rules rules;                  // what the method does
  std::vector<Slot> slots;      // what it keeps: follow() sets it with the rules
  std::size_t shared_slots = 0, scalars = 0;
  bool own_step = false;     // of the rules: !steps_by_optimizer()
  std::vector<int> degrees;  // of the workers' graph, by worker
  /// The learning rate of a worker's gradient `number`, from 1, before it is known how far the run
  /// has come by then: in rounds of any, else of the first alone.
  std::function<double(std::int64_t number)> planned_rate = [](std::int64_t) { return 0.0; };
  std::uint64_t codec_seed = 0;
  OptimizerSettings optimizer;
  std::vector<DecayRange> decay;      // covers [0, dimension)
  std::vector<MatrixRange> matrices;  // that Muon makes orthogonal
  const Backend* backend = &cpu_backend();
  int threads = 1;        // share a kernel's work on long vectors in host memory; changes no bit
  bool gradients = true;  // false: none will be computed, and nothing is kept for any
  bool snapshots = true;  // false: x never changes while a gradient is in flight, and is not copied

  /// Sets the rules and what follows from them. Asserts that shared slots come first, and that no
  /// slot has the name of a vector that every worker has.
  void follow(const Rules& of_method);

  /// Where a rule has a step of its own, which weight decay there is: an L2 penalty on the gradient
  /// or, as AdamW's, one that shrinks the model before the step.
  bool decays_own_gradient() const {
    return own_step && optimizer.weight_decay > 0 && optimizer.kind != OptimizerKind::adamw;
  }
  /// There too: the gradient is replaced by the direction of SGD with momentum.
  bool has_own_momentum() const { return own_step && optimizer.momentum > 0; }
  bool decays_own_model() const {
    return own_step && optimizer.weight_decay > 0 && optimizer.kind == OptimizerKind::adamw;
  }
};

}  // namespace acid

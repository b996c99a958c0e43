#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "engine/worker/backend.hpp"
#include "engine/worker/optimizer.hpp"
#include "engine/worker/rule.hpp"

namespace acid {

/// Settings that all workers of a run share; outlive them.
struct WorkerSettings {
  std::size_t dimension = 0;
  std::size_t buffer_size = 0;  // floats
  Rules rules;                  // of the method
  std::vector<Slot> slots;      // of the rules, like the next three; set by follow()
  std::size_t shared_slots = 0, scalars = 0;
  bool own_step = false;     // of the rules: !steps_by_optimizer()
  std::vector<int> degrees;  // of the workers' graph, by worker
  /// The learning rate of a worker's gradient `number`, from 1, as known before the run: in rounds
  /// for all gradients, otherwise for the first only.
  std::function<double(std::int64_t number)> planned_rate = [](std::int64_t) { return 0.0; };
  std::uint64_t codec_seed = 0;
  OptimizerSettings optimizer;
  std::vector<DecayRange> decay;      // covers [0, dimension)
  std::vector<MatrixRange> matrices;  // that Muon makes orthogonal
  const Backend* backend = &cpu_backend();
  int threads = 1;        // that share a kernel's work on long host vectors; changes no bit
  bool gradients = true;  // false: none will be computed; no memory for them
  bool snapshots = true;  // false: x never changes while a gradient is in flight; it is not copied

  /// Sets `rules` and the members that follow from them. Asserts that shared slots come first and
  /// that no slot has the name of a vector that every worker has.
  void follow(const Rules& of_method);

  // For rules with their own step (direction.hpp): weight decay as an L2 penalty on the gradient,
  // SGD's momentum in the gradient, and AdamW's weight decay, which shrinks the model.
  bool decays_own_gradient() const {
    return own_step && optimizer.weight_decay > 0 && optimizer.kind != OptimizerKind::adamw;
  }
  bool has_own_momentum() const { return own_step && optimizer.momentum > 0; }
  bool decays_own_model() const {
    return own_step && optimizer.weight_decay > 0 && optimizer.kind == OptimizerKind::adamw;
  }
};

}  // namespace acid

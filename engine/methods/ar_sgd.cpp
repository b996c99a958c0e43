#include "engine/methods/method.hpp"

namespace acid {

/// All-reduce SGD, as PyTorch's DistributedDataParallel does it: g = (1/n) Σ gᵢ, and every worker
/// takes the same optimiser step. Per gradient and worker a ring all-reduce sends 2(n−1)/n vectors
/// in 2(n−1) messages; the reduction overlaps the backward pass bucket by bucket, as far as the
/// vector is cut into buckets (CostModel in engine/drivers/virtual/round_clock.hpp).
AlgorithmEntry ar_sgd_entry() {
  return {.name = "ar-sgd",
          .label = "AR-SGD",
          .summary = "all-reduce of gradients every step, synchronous",
          .source = "PyTorch DDP",
          .peers = Peers::all,
          .fields = {},
          .make = [](const nlohmann::json&, const Spectral*) {
            Method method;
            method.kind = "ar-sgd";
            method.peers = Peers::all;
            method.round = Round("gradient say hear step");
            method.reduces_gradients = true;
            return method;
          }};
}

}  // namespace acid

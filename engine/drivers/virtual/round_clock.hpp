#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace acid {

/// What a gradient costs besides its duration, and in which pieces its result travels.
struct CostModel {
  double forward_share = 1.0 / 3;  // of a gradient's duration; the backward pass is the rest
  /// Of a gradient's duration, on top of it: a worker computes for duration · (1 + this), whatever
  /// the method. After the exchange (all-reduce), after each bucket of it (neighbour average beside
  /// the gradient), before it (adapt-then-combine), with the gradient (pairwise).
  double optimizer_share = 0;
  /// Equal buckets; 0: by size, as PyTorch's DistributedDataParallel cuts them, which overlaps one
  /// bucket's all-reduce with the backward pass of the next: the first one small, so that sending
  /// begins early. (DDP never cuts a tensor; these buckets do.)
  int buckets = 0;
  double first_bucket_bytes = 1 << 20, bucket_bytes = 25 << 20;

  /// Shares of a vector of so many bytes, in the order in which the backward pass ends them. A
  /// bucket takes its share of the backward pass, of the bytes and of the optimiser's time.
  std::vector<double> bucket_shares(double vector_bytes) const;
};

/// How long one worker computes in a round.
struct RoundWork {
  double gradient_seconds = 0;   // forward and backward, with the pauses in it
  double optimizer_seconds = 0;  // on top
};

/// What the exchange of one worker's whole vector with all its neighbours takes.
struct NeighbourCost {
  double latency_seconds = 0, transfer_seconds = 0;
  double seconds(double share) const { return latency_seconds + share * transfer_seconds; }
};

/// Max-plus recurrences of one synchronous round (DDP's and Decent-DP's bucket schedules). Worker i
/// begins a round at Sᵢ; Fᵢ is its forward pass, gᵢ,b its backward pass of bucket b, uᵢ,b the
/// optimiser's part of it and Uᵢ their sum, c_b the exchange of bucket b. Equal buckets and workers
/// have closed forms in steady state, with G = Bg: all_reduce max(F + G + c, F + g + Bc) + U;
/// overlapped max(F + G + U, Bc, c + U/B).
class RoundClock {
 public:
  /// `shares` of the buckets sum to 1.
  RoundClock(int workers, double forward_share, std::vector<double> shares);

  /// readyᵢ,b = Sᵢ + Fᵢ + gᵢ,1 + … + gᵢ,b; end_b = max(maxᵢ readyᵢ,b, end_b−1) + c_b, the same for
  /// all workers; then S'ᵢ = end_B + Uᵢ. Returns when the last worker is done.
  double all_reduce(const std::vector<RoundWork>& work, const std::vector<double>& bucket_seconds);

  /// doneᵢ,b = max(doneᵢ,b−1 + gᵢ,b, endᵢ,b of the round before) + uᵢ,b, with doneᵢ,0 = Sᵢ + Fᵢ;
  /// then the exchange of bucket b begins as soon as it is done at worker i and its neighbours and
  /// i's link is free, and ends at endᵢ,b; S'ᵢ = doneᵢ,B. The first round mixes the start points,
  /// which are done at 0. Returns when the last worker is done.
  double overlapped(const std::vector<RoundWork>& work, const std::vector<NeighbourCost>& costs,
                    const std::vector<std::vector<int>>& neighbours);

  /// Compute, the optimiser's step included, then wait for the neighbours, then average.
  double sequential(const std::vector<RoundWork>& work, const std::vector<NeighbourCost>& costs,
                    const std::vector<std::vector<int>>& neighbours);

  /// When worker i starts its next round.
  double ready_seconds(int worker) const { return ready_[static_cast<std::size_t>(worker)]; }
  /// Seconds each worker has neither computed nor taken optimiser steps so far.
  const std::vector<double>& idle_seconds() const { return idle_; }

  template <class Archive>
  void persist(Archive& archive) {
    archive(ready_, done_, link_free_, idle_);
  }

 private:
  double end_round(const std::vector<RoundWork>& work, const std::vector<double>& finish);

  double forward_share_;
  std::vector<double> shares_, rest_;      // rest_[b]: of the buckets after b
  std::vector<double> ready_;              // when each worker starts its next round
  std::vector<std::vector<double>> done_;  // per worker and bucket, of the last round
  std::vector<double> link_free_;          // per worker: end of its last bucket exchange
  std::vector<double> idle_;
};

}  // namespace acid

#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "engine/base/rng.hpp"

namespace acid {

// The virtual driver's model of a machine: how long gradients and messages take, in simulated
// seconds (DESIGN §3, virtual-time model).

enum class ComputeKind { constant, exponential, shifted_exponential, lognormal, pareto };

struct Pause {
  int worker = 0;
  double at_seconds = 0;
  double for_seconds = 0;
};

/// Gradient durations. Every kind has mean 1 before the factors; the mean is gradient_seconds times
/// the worker's speed factor times 1 + p(f − 1) for random slowdowns by f with probability p.
struct ComputeModel {
  ComputeKind kind = ComputeKind::constant;
  double parameter = 0;  // shifted_exponential: constant share; lognormal: sigma;
                         // pareto: shape > 1
  double gradient_seconds = 1;
  std::vector<double> slow_factors;  // per worker; empty: all 1
  double slowdown_probability = 0, slowdown_factor = 1;
  std::vector<Pause> pauses;  // by at_seconds; a worker's do not overlap

  double mean_seconds(int worker) const;
  /// Duration of worker's gradient number `step`: a pure function of seeds, worker and step.
  double draw_seconds(int worker, std::int64_t step, const Seeds& seeds) const;
  /// When work of `seconds` that starts at `start` ends, given the worker's pauses.
  double end_seconds(int worker, double start, double seconds) const;
};

struct LinkCost {
  double latency_seconds = 0;
  double bytes_per_second = 0;  // 0: unlimited
  double seconds(double bytes) const {
    return latency_seconds + (bytes_per_second > 0 ? bytes / bytes_per_second : 0);
  }
};

enum class AllReduceKind { ring, tree };

struct NetworkModel {
  LinkCost link;
  std::map<std::pair<int, int>, LinkCost> edges;  // overrides, keyed i < j
  AllReduceKind all_reduce = AllReduceKind::ring;

  const LinkCost& between(int i, int j) const;
  /// ring: 2(n−1)·latency + 2(n−1)/n·bytes/bandwidth. tree (double binary): 2⌈log₂n⌉·latency +
  /// 2·bytes/bandwidth. The slowest link of the model bounds either.
  double all_reduce_seconds(int workers, double bytes) const;
};

/// How one gradient's duration divides: forward pass, `buckets` equal backward pieces, optimiser.
struct CostModel {
  double forward_share = 1.0 / 3;
  double optimizer_share = 0;
  int buckets = 1;
};

/// Max-plus recurrences of one synchronous round (Decent-DP's and DDP's bucket schedules). Exact in
/// the cases of the closed forms: all-reduce T = max(F + G + c, F + g + Bc) + U; neighbour average
/// with overlap, in steady state, T = max(F + G + U, Bc, c + U).
class RoundClock {
 public:
  RoundClock(int workers, const CostModel& cost) : cost_(cost), ready_(size(workers), 0.0) {}

  /// Gradients of durations[i] seconds and an all-reduce of bucket_seconds per bucket, in bucket
  /// order, overlapping the backward pass. Returns when the round ends, for all workers alike.
  double all_reduce(const std::vector<double>& durations, double bucket_seconds);

  /// One neighbour average per bucket that starts when the buckets of the last round are done at
  /// both ends and must end before this round's update of that bucket; bucket_seconds[i] is worker
  /// i's cost, neighbours[i] lists whom it waits for. Returns the time the last worker is done.
  double overlapped(const std::vector<double>& durations, const std::vector<double>& bucket_seconds,
                    const std::vector<std::vector<int>>& neighbours);

  /// Compute, then wait for the neighbours, then average for exchange_seconds[i].
  double sequential(const std::vector<double>& durations,
                    const std::vector<double>& exchange_seconds,
                    const std::vector<std::vector<int>>& neighbours);

  /// When worker i starts its next round.
  double ready_seconds(int worker) const { return ready_[static_cast<std::size_t>(worker)]; }
  /// Seconds each worker has waited so far.
  const std::vector<double>& idle_seconds() const { return idle_; }

  template <class Archive>
  void persist(Archive& archive) {
    archive(ready_, done_, link_free_, idle_);
  }

 private:
  static std::size_t size(int workers) { return static_cast<std::size_t>(workers); }
  CostModel cost_;
  std::vector<double> ready_;              // when each worker starts its next round
  std::vector<std::vector<double>> done_;  // per worker and bucket, of the last round
  std::vector<double> link_free_;          // per worker: end of its last bucket exchange
  std::vector<double> idle_ = std::vector<double>(ready_.size(), 0.0);
};

}  // namespace acid

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "engine/methods/all_reduce.hpp"

namespace acid {

/// The time of one message over a link, in simulated seconds.
struct LinkCost {
  double latency_seconds = 0;
  double bytes_per_second = 0;  // 0: unlimited
  double transfer_seconds(double bytes) const {
    return bytes_per_second > 0 ? bytes / bytes_per_second : 0;
  }
  double seconds(double bytes) const { return latency_seconds + transfer_seconds(bytes); }
};

/// The links between simulated workers, and to servers.
struct NetworkModel {
  LinkCost link;
  std::map<std::pair<int, int>, LinkCost> edges;  // overrides, keyed i < j
  AllReduceKind all_reduce = AllReduceKind::ring;
  std::optional<LinkCost> hubs = {};  // between hubs and the server above; absent: as link
  /// The size of the vectors of a large model, for whose messages those of the run stand; a
  /// multiple of 4. Absent: the run stands for itself.
  std::optional<std::int64_t> vector_bytes = {};
  /// The same in elements, as RunSpec::stands_for.
  std::optional<std::size_t> stands_for() const {
    if (!vector_bytes) return std::nullopt;
    return static_cast<std::size_t>(*vector_bytes) / sizeof(float);
  }

  const LinkCost& between(int i, int j) const;

  /// The time of an all-reduce of `bytes` from the moment at which every worker is ready until
  /// every worker has the sum, message by message over the links that it crosses; additions are
  /// free. Adding begins before the last worker is ready, but the last worker's part of the sum
  /// still has all steps before it, so the time counts from the last worker.
  ///
  /// ring (Patarasuk & Yuan 2009; NCCL, gloo): worker i passes 2(n−1) pieces of bytes/n on to
  ///   i + 1, each as soon as it has come and the one before it has left. On equal links
  ///   2(n−1)·latency + 2(n−1)/n·bytes/bandwidth; pieces under way on a slow link do not wait for
  ///   each other, so that one link of high latency is paid twice, not 2(n−1) times.
  /// tree (double binary, as NCCL's): the parent of worker i is i/2, in the mirrored tree likewise
  ///   from the other end; the deepest path's latencies twice, and the bytes of the worker whose
  ///   links carry most. On equal links 2⌈log₂ n⌉·latency + 2·bytes/bandwidth (n = 2: half those
  ///   bytes).
  /// recursive doubling: whole vectors with the partner whose number differs in one bit; workers
  ///   beyond the largest power of two hand theirs to a neighbour before and get the sum after.
  /// blocking: no worker begins a step of the ring before both neighbours have ended the last, so
  ///   every step takes as long as the slowest link: 2(n−1) times that.
  ///
  /// O(n) where all links are equal, at most O(n²): compute it once, since links never change.
  double all_reduce_seconds(int workers, double bytes) const;
};

}  // namespace acid

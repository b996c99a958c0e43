#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "engine/base/mutex.hpp"
#include "engine/run/run_spec.hpp"

namespace acid {

/// Whom the workers of a run of rounds hear, exchange by exchange, and what they send: a function
/// of the run's settings alone, so that every process finds the same. Those of a period are found
/// when it is made; what is drawn is kept for a while. Any thread.
class PeerSchedule {
 public:
  /// `spec` outlives it.
  PeerSchedule(const RunSpec& spec, std::size_t dimension,
               AllReduceKind all_reduce = AllReduceKind::ring);

  struct Exchange {
    MixingMatrix weights;                     // row i: what worker i hears
    std::vector<std::vector<int>> receivers;  // of worker i's message, ascending
  };
  /// Not where an all-reduce sums messages.
  std::shared_ptr<const Exchange> exchange(std::int64_t number) const EXCLUDES_LOCK(mutex_);
  /// After so many exchanges they come again; 0: they never do.
  std::int64_t period() const { return static_cast<std::int64_t>(cycle_.size()); }

  /// Where the run stands after so many legs, a gradient of every worker each, with what all
  /// workers have sent.
  Position after_legs(std::int64_t legs, double seconds) const EXCLUDES_LOCK(mutex_);

 private:
  std::shared_ptr<const Exchange> make(std::int64_t number) const;
  std::shared_ptr<const Exchange> drawn(std::int64_t number) const REQUIRES_LOCK(mutex_);
  std::int64_t bytes_before(std::int64_t exchange) const EXCLUDES_LOCK(mutex_);

  const RunSpec& spec_;
  const std::shared_ptr<const MixingSchedule> mixing_;  // null: an all-reduce
  const std::uint64_t seed_;
  const std::int64_t bytes_each_;  // of a worker's message to one other, or of an all-reduce

  std::vector<std::shared_ptr<const Exchange>> cycle_;
  std::vector<std::int64_t> cycle_messages_ = {0};  // before each exchange of it, and in all

  mutable Mutex mutex_;
  mutable std::map<std::int64_t, std::shared_ptr<const Exchange>> drawn_ GUARDED_BY(mutex_);
  mutable std::vector<std::int64_t> drawn_messages_ GUARDED_BY(mutex_) = {0};  // before each
};

}  // namespace acid

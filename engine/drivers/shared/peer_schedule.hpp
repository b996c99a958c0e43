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
    /// The own weights of means (kernels.hpp). Where rows do not sum to 1, the sum over a column of
    /// the weights as floats does.
    std::vector<double> excess;
    // Where groups average by an all-reduce (Method::reduces_groups); else empty.
    WorkerGroups groups = {};
    std::vector<std::size_t> group = {};  // by worker: its place in `groups`
    std::int64_t vectors = 0;             // that all workers send: vectors_sent()

    const std::vector<int>& group_of(int worker) const {
      return groups[group[static_cast<std::size_t>(worker)]];
    }
  };
  /// The exchange of this number. Not for those in which an all-reduce sums all messages.
  std::shared_ptr<const Exchange> exchange(std::int64_t number) const EXCLUDES_LOCK(mutex_);
  /// Whether all-reduces sum the messages: one of all workers, or one of each group.
  bool sums_in(std::int64_t number) const {
    return spec_.method.hears_all_in(number) ? !spec_.method.gathers()
                                             : spec_.method.reduces_groups;
  }
  bool sums_all_in(std::int64_t number) const {
    return spec_.method.hears_all_in(number) && !spec_.method.gathers();
  }
  /// The place of an exchange in the period of its graphs; −1: an all-reduce sums all messages.
  std::int64_t place(std::int64_t number) const {
    return sums_all_in(number) ? -1 : period() > 0 ? number % period() : number;
  }
  /// The form in which messages travel.
  const PackedMessage& form() const { return form_; }
  /// What a message of this exchange counts and costs (RunSpec::stands_for).
  std::size_t bytes(std::int64_t exchange) const { return counted_.bytes(exchange); }
  /// The number of exchanges after which the same graphs come again; 0: never.
  std::int64_t period() const { return static_cast<std::int64_t>(cycle_.size()); }

  /// The run's position after so many legs (in each, one gradient per worker); counts the bytes
  /// that all workers have sent.
  Position after_legs(std::int64_t legs, double seconds) const EXCLUDES_LOCK(mutex_);

 private:
  std::shared_ptr<const Exchange> make(const MixingMatrix& weights) const;
  std::shared_ptr<const Exchange> drawn(std::int64_t number) const REQUIRES_LOCK(mutex_);
  std::shared_ptr<const Exchange> stays(std::int64_t number) const;  // null: it is drawn
  std::int64_t bytes_in(std::int64_t exchange) const REQUIRES_LOCK(mutex_);
  std::int64_t bytes_before(std::int64_t exchange) const EXCLUDES_LOCK(mutex_);

  const RunSpec& spec_;
  const std::shared_ptr<const MixingSchedule> mixing_;  // null: an all-reduce
  const std::uint64_t seed_;
  const PackedMessage form_, counted_;
  const AllReduceKind all_reduce_;
  std::shared_ptr<const Exchange>
      all_;  // the exchange in which all hear all, where there are others too; null: none

  std::vector<std::shared_ptr<const Exchange>> cycle_;
  std::vector<std::int64_t> cycle_vectors_ = {0};  // before each of its exchanges, and in all

  mutable Mutex mutex_;
  mutable std::map<std::int64_t, std::shared_ptr<const Exchange>> drawn_ GUARDED_BY(mutex_);
  mutable std::vector<std::int64_t> bytes_ GUARDED_BY(mutex_) = {0};  // before each, if they differ
};

}  // namespace acid

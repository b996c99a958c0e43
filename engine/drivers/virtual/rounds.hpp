#pragma once

#include <atomic>
#include <optional>
#include <vector>

#include "engine/drivers/shared/chain_pool.hpp"
#include "engine/drivers/virtual/round_clock.hpp"
#include "engine/drivers/virtual/virtual_time.hpp"
#include "engine/run/ensemble.hpp"
#include "engine/run/event_log.hpp"
#include "engine/run/outcome.hpp"
#include "engine/run/run.hpp"
#include "engine/run/sampler.hpp"
#include "engine/run/timeline.hpp"

namespace acid {

/// Who sends what to whom in one round of a synchronous method, and what it costs.
struct RoundPlan {
  MixingMatrix weights;                      // neighbours pattern
  std::vector<std::vector<int>> neighbours;  // neighbours pattern: whom worker i waits for
  std::vector<NeighbourCost> exchanges;      // neighbours pattern: per worker
  std::vector<double> bucket_seconds;        // all-reduce pattern
  std::int64_t bytes = 0;                    // sent per round, summed over workers
};
/// `bucket_shares`: of the vector, see CostModel.
RoundPlan plan_round(const RunSpec& spec, const NetworkModel& network,
                     const std::vector<double>& bucket_shares, double vector_bytes);

/// One synchronous run in virtual time: rounds of one gradient per worker; round k ends at
/// normalised time k + 1. Under a budget of seconds the run ends with the last round that every
/// worker has ended by then. The vectors of worker i belong to chain i of the pool.
class VirtualSync {
 public:
  VirtualSync(const Run& run, const VirtualOptions& options);
  Outcome execute();

  static constexpr std::string_view kLayout = "virtual-sync/4";

  /// The state between two rounds, the vectors apart.
  template <class Archive>
  void persist(Archive& archive) {
    archive(ensemble_, log_, round_clock_, round_, totals_, notes_, sampler_);
  }

 private:
  void save_cut();
  Outcome diverged_now();
  void compute_gradients();
  void all_reduce_round();
  void neighbour_round();
  /// Commits every worker's step with the gradient that direction_of(i) names, at the round's end.
  template <class DirectionOf>
  void commit_all(DirectionOf direction_of);
  /// The round that comes next, as far as it is known before it happens.
  struct Ahead {
    RoundClock clock;  // at its end
    std::vector<RoundWork> work;
    double seconds = 0;  // when its last worker is done
  };
  Ahead look_ahead() const;
  void advance_clock();
  void add_spans();
  void take_sample();
  /// Also when the next round would end too late.
  bool budget_spent();

  const Run& run_;
  const RunSpec& spec_;
  const VirtualOptions& options_;
  Ensemble ensemble_;
  EventLog log_;  // worker i's: chain i
  const std::vector<double> bucket_shares_;
  const RoundPlan round_plan_;
  RoundClock round_clock_;
  std::optional<Ahead> ahead_;  // of round_, once somebody asked
  Timeline timeline_;
  std::vector<Arena<float>> averages_;   // neighbours: h of each worker; all-reduce: [0] is ḡ
  std::vector<Arena<float>> published_;  // neighbours: the vectors that others read this round
  std::vector<double> losses_;
  std::int64_t round_ = 0;
  Totals totals_;
  GradientRecords notes_;
  std::atomic<bool> not_finite_{false};  // set by tasks
  ChainPool pool_;                       // last: its tasks use the members above
  Sampler sampler_;
};

}  // namespace acid

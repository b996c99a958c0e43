#pragma once

#include <atomic>
#include <optional>
#include <vector>

#include "engine/drivers/shared/chain_pool.hpp"
#include "engine/drivers/shared/peer_schedule.hpp"
#include "engine/drivers/shared/rounds.hpp"
#include "engine/drivers/shared/run_shell.hpp"
#include "engine/drivers/virtual/round_clock.hpp"
#include "engine/drivers/virtual/round_costs.hpp"
#include "engine/drivers/virtual/virtual_time.hpp"
#include "engine/run/timeline.hpp"

namespace acid {

/// One synchronous run in virtual time: legs of one gradient per worker; leg k ends at normalised
/// time k + 1. Under a budget of seconds the run ends with the last leg that every worker has ended
/// by then. The vectors of worker i belong to chain i of the pool.
class VirtualSync {
 public:
  VirtualSync(const Run& run, const VirtualOptions& options);
  Outcome execute();

  /// The state between two legs, without vectors.
  template <class Archive>
  void persist(Archive& archive) {
    archive(shell_.ensemble, shell_.log, round_clock_, leg_, totals_, notes_, shell_.sampler);
  }

 private:
  void save_cut();
  void go_through(const Leg& leg);
  void compute_gradients();
  void say();
  void hear(std::int64_t exchange);
  /// Takes the mean of each group's messages of so many floats; or of these messages.
  void add_groups(const PeerSchedule::Exchange& peers, std::size_t size);
  void add(const std::vector<const float*>& messages, std::size_t size, Arena<float>& mean);
  void step();
  /// Worker w's message: its gradient where gradients are reduced.
  std::span<float> message(int w);
  /// The next leg, as far as it is known before it happens.
  struct Ahead {
    RoundClock clock;  // at the leg's end
    std::vector<RoundWork> work;
    std::vector<std::shared_ptr<const MessageCosts>> costs;  // of the messages said in it
    double seconds = 0;                                      // when its last worker is done
  };
  Ahead look_ahead();
  void advance_clock();
  void add_spans();
  void take_sample();
  /// Whether the budget is spent; also true when the next leg would end too late.
  bool budget_spent();

  const Run& run_;
  const RunSpec& spec_;
  const VirtualOptions& options_;
  RunShell shell_;  // what belongs to worker i: chain i
  const PeerSchedule peers_;
  const std::size_t message_size_;
  const std::vector<double> bucket_shares_;
  RoundCosts costs_;
  RoundClock round_clock_;
  std::optional<Ahead> ahead_;  // of leg_, once computed
  Timeline timeline_;
  std::vector<Arena<float>> messages_;  // by worker
  Arena<float> mean_;                   // of all messages, where all workers are heard
  std::vector<Arena<float>> group_means_;
  struct Computed {
    double loss = 0;
    std::optional<double> norm;  // where hearing changes the gradient
  };
  std::vector<Computed> computed_;  // by worker
  std::int64_t leg_ = 0;
  Totals totals_;
  GradientRecords notes_;
  std::atomic<bool> not_finite_{false};  // set by tasks
  ChainPool pool_;                       // declared last: its tasks use the members above
};

}  // namespace acid

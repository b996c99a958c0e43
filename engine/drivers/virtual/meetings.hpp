#pragma once

#include <optional>

#include "engine/drivers/shared/player.hpp"
#include "engine/drivers/virtual/exchanges.hpp"
#include "engine/drivers/virtual/gradient_rings.hpp"
#include "engine/drivers/virtual/timetable.hpp"
#include "engine/drivers/virtual/virtual_time.hpp"
#include "engine/drivers/virtual/virtual_workers.hpp"
#include "engine/run/outcome.hpp"
#include "engine/run/run.hpp"
#include "engine/run/sampler.hpp"

namespace acid {

/// One asynchronous run in virtual time, step by step: the next thing that happens is an edge that
/// is due, the end of a gradient, of an exchange or of a pause, a sample, or the end of the budget.
/// The public thread owns everything but what the Player's tasks work on.
class VirtualAsync {
 public:
  VirtualAsync(const Run& run, const VirtualOptions& options);
  Outcome execute();

  static constexpr std::string_view kLayout = "virtual-async/7";

  /// The state between two events, the vectors apart. No light task may be unfinished.
  template <class Archive>
  void persist(Archive& archive);

 private:
  void resume(const CheckpointFile& file);
  void save_cut();
  /// One step: the next thing that happens, whatever it is. False when the run is over.
  bool step();
  /// The next of occurrences and rings, in seconds; infinite if there is none.
  double next_seconds() const;
  void handle_next();
  void handle(const Occurrence& occurrence);
  void gradient_done(int w);
  void gradient_rings();
  bool is_behind(int w) const;
  void commit(int w, bool begins_next);
  void gather_notes();
  void fetch_gradients();  // into the cache (prefetch.cpp)
  void hold(int w);
  void release_if_caught_up(int w);
  void handle_due_edge();
  void start_ready_exchanges();
  void exchange_done(const DueEdge& edge);
  void count_exchange();
  void take_sample(double time);
  double time_limit();
  bool budget_spent();
  void drain();
  Outcome finish();
  bool consensus_only() const { return options_.gradient_clock == GradientClock::none; }

  const Run& run_;
  const RunSpec& spec_;
  const VirtualOptions& options_;
  const std::int64_t bytes_per_exchange_;
  Timetable timetable_;
  VirtualWorkers workers_;
  VirtualExchanges exchanges_;
  std::optional<GradientRings> rings_;  // under the Poisson clock
  Totals totals_;
  GradientRecords notes_;  // since the last sample
  std::int64_t holds_ = 0, waiting_at_end_ = 0;
  bool ended_ = false;
  Player player_;  // after what its tasks use: the members above
  Sampler sampler_;
};

}  // namespace acid

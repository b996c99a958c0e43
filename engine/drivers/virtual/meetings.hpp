#pragma once

#include <atomic>
#include <optional>
#include <queue>
#include <span>
#include <vector>

#include "engine/drivers/shared/chain_pool.hpp"
#include "engine/drivers/shared/matchmaker.hpp"
#include "engine/drivers/shared/normalised_clock.hpp"
#include "engine/drivers/virtual/gradient_rings.hpp"
#include "engine/drivers/virtual/virtual_time.hpp"
#include "engine/run/ensemble.hpp"
#include "engine/run/event_log.hpp"
#include "engine/run/outcome.hpp"
#include "engine/run/run.hpp"
#include "engine/run/sampler.hpp"
#include "engine/run/timeline.hpp"
#include "engine/topology/edge_schedule.hpp"

namespace acid {

/// One asynchronous run in virtual time. The public thread owns everything but the vectors of
/// worker i, which belong to chain i of the pool (its gradient in flight: chain n + i).
class VirtualAsync {
 public:
  VirtualAsync(const Run& run, const VirtualOptions& options);
  Outcome execute();

  /// Bytes of a vector up to which fetching it ahead is worth while.
  static constexpr double kLongestFetched = 1024;
  static constexpr std::string_view kLayout = "virtual-async/6";

  /// The state between two events, the vectors apart. No light task may be unfinished.
  template <class Archive>
  void persist(Archive& archive);

 private:
  /// Something that will happen.
  struct Occurrence {
    enum class Kind : std::uint8_t { gradient_done, exchange_done, pause_begins, pause_ends };
    double seconds = 0;
    std::uint64_t sequence = 0;
    int worker = 0;  // exchange_done: the first of the two
    Kind kind = Kind::gradient_done;
    bool operator>(const Occurrence& other) const {
      if (seconds != other.seconds) return seconds > other.seconds;
      if (worker != other.worker) return worker > other.worker;
      return sequence > other.sequence;
    }
    template <class Archive>
    void persist(Archive& archive) {
      archive(seconds, sequence, worker, kind);
    }
  };
  struct WorkerState {
    double duration =
        0;  // seconds, of the gradient in flight; where there is none, of a nominal one
    double backlog_limit = 0;
    std::int64_t begun = 0;  // gradients begun, each with a duration
    bool held = false;       // by the throttle
    bool paused = false;
    bool measured = false;  // the norm of one of its gradients, since the last sample
    double held_since = 0;  // seconds
    int partner = -1;       // of the exchange in flight, once offered
    double offered = 0;     // when it was, in normalised time
    double idle_seconds = 0;
    double computing_since = kNever;  // seconds; of an earlier attempt: kNever
    double exchanging_since = kNever;
    double loss = 0;  // of the gradient in flight; chain n + i
    template <class Archive>
    void persist(Archive& archive) {
      archive(duration, begun, held, paused, measured, held_since, partner, offered, idle_seconds);
    }
  };

  void begin();
  void resume(const CheckpointFile& file);
  void save_cut();
  std::vector<StateVectors> vectors() const;
  /// One step: the next thing that happens, whatever it is. False when the run is over.
  bool step();
  void push(Occurrence occurrence);
  /// The next of occurrences and rings, in seconds; infinite if there is none.
  double next_seconds() const;
  void handle_next();
  void handle(const Occurrence& occurrence);
  void gradient_done(int w);
  void gradient_rings();
  bool is_behind(int w) const;
  void begin_waiting(int w);
  void schedule_gradient(int w);
  /// What worker w has done since then, which an earlier attempt may have begun, ends now.
  void end_span(int w, SpanKind kind, double since);
  void submit_begin(int w);
  void submit_compute(int w);
  void submit_commit(int w, bool begin_next);
  void gather_notes();

  // Exchanges (meetings_exchange.cpp).
  void handle_due_edge();
  void start_ready_exchanges();
  void exchange_at_once(const DueEdge& edge);
  void exchange_done(const DueEdge& edge);
  void count_exchange(const DueEdge& edge);
  void submit_exchange(const DueEdge& edge);  // at once
  void submit_offer(const DueEdge& edge);
  void submit_apply(const DueEdge& edge);

  // Into the cache (prefetch.cpp).
  void fetch_exchanges() const;
  void fetch_gradients();

  void pause(int w, bool begins);
  void hold(int w);
  void release_if_caught_up(int w);
  std::vector<ExchangeInFlight> exchanges_in_flight() const;
  void take_sample(double time);
  double time_limit() const;
  double time_at(double seconds) const;
  void advance_to(double time, double seconds);
  bool budget_spent();
  void drain();
  Outcome finish();

  bool poisson() const { return options_.gradient_clock == GradientClock::poisson; }
  bool consensus_only() const { return options_.gradient_clock == GradientClock::none; }
  /// What a gradient's duration is multiplied by to include the step. Events take no time.
  double with_optimizer() const {
    return options_.gradient_clock == GradientClock::duration ? 1 + options_.cost.optimizer_share
                                                              : 1;
  }
  /// Where worker w's offer lies; not when every exchange is instantaneous.
  std::span<float> offer(int w);
  std::span<const float> offer(int w) const;
  WorkerState& state(int w) { return states_[static_cast<std::size_t>(w)]; }

  const Run& run_;
  const RunSpec& spec_;
  const VirtualOptions& options_;
  Ensemble ensemble_;
  EventLog log_;  // worker i's: chain i
  /// Every exchange takes no time: it is over before another begins, and nobody ever waits.
  const bool instant_;
  const bool fetches_ahead_;
  std::size_t offer_stride_ = 0;
  Arena<float> offers_;  // all workers'; empty when instant_
  std::vector<WorkerState> states_;
  EdgeSchedule schedule_;
  std::optional<GradientRings> rings_;  // under the Poisson clock
  Matchmaker matchmaker_;
  NormalisedClock clock_;
  std::priority_queue<Occurrence, std::vector<Occurrence>, std::greater<>> occurrences_;
  std::uint64_t sequence_ = 0;
  std::int64_t steps_ = 0;         // taken so far
  double time_ = 0, seconds_ = 0;  // of the step being taken
  Totals totals_;
  GradientRecords notes_;  // since the last sample
  EdgeCounter edges_;
  Timeline timeline_;
  std::int64_t holds_ = 0, waiting_at_end_ = 0;
  bool ended_ = false;
  std::atomic<bool> not_finite_{false};  // set by tasks
  ChainPool pool_;                       // after what its tasks use: the members above
  Sampler sampler_;
};

}  // namespace acid

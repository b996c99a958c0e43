#pragma once

#include <atomic>
#include <deque>
#include <vector>

#include "engine/base/cyclic_barrier.hpp"
#include "engine/base/stop_latch.hpp"
#include "engine/base/thread_group.hpp"
#include "engine/drivers/shared/sync_state.hpp"
#include "engine/drivers/threads/pace.hpp"
#include "engine/run/ensemble.hpp"
#include "engine/run/event_log.hpp"
#include "engine/run/outcome.hpp"
#include "engine/run/run.hpp"
#include "engine/run/timeline.hpp"

namespace acid {

/// One synchronous run on threads, a round per gradient. All threads meet at a barrier once every
/// gradient of a round is computed and nothing is committed yet; the last to come measures, if it
/// is time, and decides whether the run ends. Between barriers worker i's state belongs to thread
/// i.
class ThreadsSync {
 public:
  ThreadsSync(const Run& run, const ThreadsOptions& options);
  Outcome execute();

  static constexpr std::string_view kLayout = kSyncLayout;

 private:
  /// A measured mean on its way to the calling thread, which evaluates it.
  struct Measured {
    MeanModel mean;
    Totals totals;
    GradientRecords notes;
  };

  void work(int w);
  bool all_reduce(int w);
  bool neighbour_average_round(int w, std::int64_t round);
  void commit(int w, std::span<const float> direction);
  void assign_average(int w, std::int64_t round, double t);
  void publish(int w, std::int64_t round);
  bool wait(int w, const std::function<void()>& leader = {});
  /// The last thread at the barrier of a round; alone.
  void between_rounds(std::int64_t round);
  bool must_end(const Position& here) const;
  void save_cut(std::int64_t round) EXCLUDES_LOCK(samples_mutex_);
  void watch();
  void stop_watching() EXCLUDES_LOCK(samples_mutex_);
  void abort() EXCLUDES_LOCK(samples_mutex_);
  void train();
  /// Adds what worker w has done since then to its timeline, and returns the time that it is.
  double end_span(int w, SpanKind kind, double since);
  double seconds() const { return run_.clock.seconds() - started_seconds_; }
  Position position(std::int64_t rounds) const;
  GradientRecords collect_notes();

  const Run& run_;
  const RunSpec& spec_;
  Pace pace_;
  double started_seconds_ = 0;    // earlier attempts' time is before it
  std::int64_t first_round_ = 0;  // of this attempt
  const bool all_reduce_;
  MixingMatrix weights_;  // neighbours pattern; constant
  std::int64_t bytes_per_round_ = 0;
  Ensemble ensemble_;
  EventLog log_;
  Timeline timeline_;
  std::vector<Arena<float>> published_[2];     // neighbours: by parity of the round
  std::vector<Arena<float>> averages_;         // neighbours: per worker; all-reduce: [0] is ḡ
  std::vector<GradientRecords> notes_;         // per worker, since the last sample
  std::vector<double> losses_, idle_seconds_;  // per worker
  std::atomic<std::int64_t> rounds_done_{0};   // whole rounds committed by all
  std::atomic<bool> ended_{false};             // set between rounds
  std::atomic<bool> stopped_{false};           // by the person; set between rounds
  std::atomic<bool> diverged_{false}, end_wanted_{false};
  StopLatch closing_;
  CyclicBarrier barrier_;

  Mutex samples_mutex_;
  Condition samples_changed_;
  std::deque<Measured> samples_ GUARDED_BY(samples_mutex_);
  bool watching_ GUARDED_BY(samples_mutex_) = true;      // false once the rounds are over
  SampleTimes sample_times_ GUARDED_BY(samples_mutex_);  // the sampler's, once samples_ is empty
  Sampler sampler_;  // calling thread; others while samples_ is empty and they hold samples_mutex_
};

}  // namespace acid

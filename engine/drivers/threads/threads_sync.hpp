#pragma once

#include <atomic>
#include <map>

#include "engine/base/cyclic_barrier.hpp"
#include "engine/base/stop_latch.hpp"
#include "engine/base/thread_group.hpp"
#include "engine/drivers/shared/rounds.hpp"
#include "engine/drivers/threads/message_board.hpp"
#include "engine/drivers/threads/round_samples.hpp"
#include "engine/drivers/threads/round_workers.hpp"
#include "engine/drivers/threads/slow_workers.hpp"

namespace acid {

/// One synchronous run on threads. Each worker goes through the legs of the method's round on its
/// own, and waits only for the workers that it hears and for those that have not heard it yet. The
/// first worker that reaches a leg decides for all what is due; it happens once the leg's gradient
/// is computed, before anything is heard or committed. For a sample each worker leaves a copy of
/// its model; for a checkpoint and at the end all meet at a barrier, and the last to arrive saves
/// the run, or ends it.
///
/// Thread i owns worker i's state; while all are at the barrier the last to arrive owns all.
class ThreadsSync {
 public:
  ThreadsSync(const Run& run, const ThreadsOptions& options);
  Outcome execute();

 private:
  /// What the first worker that reached a leg has decided for all.
  struct Decision {
    bool meet = false, sample = false;
    int passed = 0;                // workers that know the decision
    std::int64_t extra_bytes = 0;  // of these workers, before the leg
  };

  void work(int w);
  bool act(int w, Phase phase, std::int64_t exchange);
  void compute(int w);
  bool say(int w, std::int64_t exchange);
  bool hear(int w, std::int64_t exchange);
  bool hear_peers(int w, std::int64_t exchange);
  bool reduce(int w, std::int64_t exchange);
  void step(int w);
  bool may_go_on(int w, std::int64_t leg) EXCLUDES_LOCK(decisions_mutex_);
  Decision decide(int w, std::int64_t leg) EXCLUDES_LOCK(decisions_mutex_);
  bool must_meet(std::int64_t leg, const Position& here) REQUIRES_LOCK(decisions_mutex_);
  bool cut_is_due(std::int64_t leg) EXCLUDES_LOCK(decisions_mutex_);
  /// Waits until all workers are here; the last of them is the leader.
  bool meet(int w, const std::function<void()>& leader = {});
  /// Called by the leader, before anything of a leg is heard or committed.
  void between_legs(std::int64_t leg) EXCLUDES_LOCK(decisions_mutex_);
  bool leave_sample(int w, std::int64_t leg);
  bool must_end(std::int64_t leg, Position here) const;
  void save_cut(std::int64_t leg);
  void evaluate_samples();
  bool has_diverged() const { return diverged_leg_.load() < RunSpec::kNoEnd; }
  void abort();
  void train();
  GradientRecords collect_notes();

  const Run& run_;
  const RunSpec& spec_;
  SlowWorkers slow_workers_;
  double end_seconds_ = 0;  // of the run: when all last met, before the end is evaluated
  RoundWorkers workers_;
  const std::int64_t first_leg_;  // of this attempt
  RunShell& shell_;  // of workers_; its sampler is the calling thread's, and the leader's once all
                     // samples are evaluated
  MessageBoard board_;
  std::atomic<std::int64_t> legs_done_;  // committed by all, when they last met
  std::atomic<bool> ended_{false};       // set while all meet
  std::atomic<bool> stopped_{false};     // by the person; set while all meet
  std::atomic<bool> end_wanted_{false};
  std::atomic<std::int64_t> diverged_leg_{RunSpec::kNoEnd};  // the first whose loss is not finite
  StopLatch closing_;
  CyclicBarrier barrier_;

  Mutex decisions_mutex_;
  std::map<std::int64_t, Decision> decisions_ GUARDED_BY(decisions_mutex_);  // by leg
  std::int64_t cut_due_ GUARDED_BY(decisions_mutex_) = -1;                   // before this leg

  RoundSamples samples_;
  GradientRecords unsampled_;  // records of samples after the run diverged; the calling thread's
};

}  // namespace acid

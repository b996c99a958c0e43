#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <utility>

#include "engine/base/clock.hpp"
#include "engine/drivers/mpi/evaluator.hpp"
#include "engine/drivers/shared/peer_schedule.hpp"

namespace acid {

/// Rank 0's decisions about the legs of a synchronous run. A newer directive repeats an older one
/// as long as some process has not done it.
struct Directive {
  std::int64_t allowed = 0;  // rounds before this one may be committed
  std::int64_t cut = -1;     // before this round's commit: a checkpoint
  std::int64_t sample = -1;  // before this round's commit: a measurement of all workers
  std::int64_t end = -1;     // in place of this round's commit: the end
  bool save = false;         // with a checkpoint at the end
  bool stopping = false;     // as soon as possible: no worker sleeps any more
  template <class Archive>
  void persist(Archive& archive) {
    archive(allowed, cut, sample, end, save, stopping);
  }
};

/// Rank 0 decides, round by round and in the order in which threads would, whether a round's
/// gradients are committed and what comes before. Its decisions are a few rounds ahead of the
/// slowest worker, so that no worker waits for them, but never past a sample: a sample is taken
/// only when all losses before it are known to be finite. A few samples can wait to be evaluated.
class RoundCoordinator final : public Coordinator {
 public:
  /// `times`: of the samples that are still to come. The run began at `round`, at `started_seconds`
  /// on the clock.
  RoundCoordinator(const Run& run, Post& post, const SampleTimes& times, double started_seconds,
                   std::int64_t round);

  /// Takes a message of the kinds progress and stop.
  void deliver(const Mail& mail) override EXCLUDES_LOCK(mutex_);
  /// Decides what can be decided now.
  double act() override EXCLUDES_LOCK(mutex_);
  /// The position after so many legs, at that time on the clock; without extra bytes.
  Position position(std::int64_t legs, double clock_seconds) const;

  // The calling thread calls these.
  /// The first ordered sample that was not is recorded; `enough`: the run need not go on; `times`:
  /// of later samples. By the clock a sample is taken later than it was ordered, and the next one
  /// is due only after that.
  void sampled(bool enough, const SampleTimes& times) EXCLUDES_LOCK(mutex_);
  /// The last ordered cut is saved, or no longer needed.
  void saved() EXCLUDES_LOCK(mutex_);
  bool was_stopped() override EXCLUDES_LOCK(mutex_);

 private:
  void progress(MailReader& reader) REQUIRES_LOCK(mutex_);
  bool decide() REQUIRES_LOCK(mutex_);
  void end(bool over) REQUIRES_LOCK(mutex_);
  bool must_end(const Position& here) const REQUIRES_LOCK(mutex_);
  std::int64_t rounds_ahead() const REQUIRES_LOCK(mutex_);
  bool may_order_sample() const REQUIRES_LOCK(mutex_);

  const Run& run_;
  const RunSpec& spec_;
  Post& post_;
  Checkpoints* const checkpoints_;  // the calling thread's while cutting_ is set, else ours
  const PeerSchedule peers_;
  const double started_seconds_;
  const std::int64_t first_round_;
  const double first_seconds_;  // when this attempt began

  Mutex mutex_;
  SampleTimes sample_times_ GUARDED_BY(mutex_);
  Directive directive_ GUARDED_BY(mutex_);
  /// Rounds that some workers have committed: how many workers, and their extra bytes until then.
  std::map<std::int64_t, std::pair<int, std::int64_t>> reached_ GUARDED_BY(mutex_);
  std::int64_t whole_ GUARDED_BY(mutex_) = 0;        // rounds committed by all
  std::int64_t extra_bytes_ GUARDED_BY(mutex_) = 0;  // of these rounds
  std::int64_t asked_ GUARDED_BY(mutex_) = -1;       // last round for which a cut was considered
  bool cut_due_ GUARDED_BY(mutex_) = false;          // before the considered round
  bool cutting_ GUARDED_BY(mutex_) = false;
  std::deque<bool> ordered_ GUARDED_BY(mutex_);  // samples not recorded yet: whether each evaluates
  bool stop_ GUARDED_BY(mutex_) = false, enough_ GUARDED_BY(mutex_) = false;
  bool diverged_ GUARDED_BY(mutex_) = false, stopped_ GUARDED_BY(mutex_) = false;
};

}  // namespace acid

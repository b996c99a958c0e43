#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "engine/drivers/mpi/clock.hpp"
#include "engine/drivers/mpi/report.hpp"
#include "engine/recorder/null_recorder.hpp"
#include "engine/run/run.hpp"

namespace acid {

/// Which mark a worker of an asynchronous run comes to next: the same for all, because rank 0 tells
/// all of them of a checkpoint and of the end while their clocks stand still. The communication
/// thread's.
class Marks {
 public:
  struct Mark {
    std::int64_t count = WorkerClock::kFree;  // of the worker's clock
    MarkKind kind = MarkKind::measured;
  };

  explicit Marks(const Run& run)
      : spec_(run.spec), sample_times_(run.spec, run.objective, nobody_, {}) {}

  void cut_at(std::int64_t count) { cut_ = count; }
  /// `save`: with a checkpoint.
  void end_at(std::int64_t count, bool save) {
    end_ = count;
    save_at_end_ = save;
  }

  // A sample at the very end is the final one.
  Mark next() const {
    Mark next;
    const double sample = std::ceil(sample_times_.sample_times().next() * spec_.workers - 1e-9);
    const auto most = static_cast<double>(std::min(spec_.budget.gradients - 1, end_));
    if (sample <= most) next = {static_cast<std::int64_t>(sample), MarkKind::measured};
    if (cut_ < next.count) next = {cut_, MarkKind::checkpoint};
    if (end_ < next.count && !marked_end_)
      next = {end_, save_at_end_ ? MarkKind::last_checkpoint : MarkKind::end};
    return next;
  }
  /// The worker has come to that mark, at normalised time `t`.
  void pass(MarkKind kind, double t) {
    if (kind == MarkKind::measured)
      sample_times_.pass({.gradients = 0, .normalised_time = t, .seconds = 0, .bytes = 0}, 0);
    else if (kind == MarkKind::checkpoint)
      cut_ = WorkerClock::kFree;
    else
      marked_end_ = true;
  }

  template <class Archive>
  void persist(Archive& archive) {
    archive(sample_times_);
  }

 private:
  const RunSpec& spec_;
  NullRecorder nobody_;
  Sampler sample_times_;  // measures nothing
  std::int64_t cut_ = WorkerClock::kFree, end_ = WorkerClock::kFree;
  bool save_at_end_ = false, marked_end_ = false;
};

}  // namespace acid

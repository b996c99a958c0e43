#pragma once

#include <algorithm>

#include "engine/drivers/mpi/mpi.hpp"
#include "engine/drivers/mpi/shared_worker.hpp"

namespace acid {

/// Tells rank 0 how far a process's worker is, when that is news and not too often. Rank 0 may
/// never know of more gradients of a worker than it has events of. The communication thread's.
class Progress {
 public:
  Progress(const Run& run, const MpiOptions& options, Post& post)
      : clock_(run.clock), post_(post), goes_on_(options.goes_on) {}

  /// Rank 0 knows of so many gradients.
  void begin_at(std::int64_t gradients) { told_gradients_ = gradients; }
  /// Tells rank 0, unless nothing is new or it was told a moment ago.
  void tell(SharedWorker& worker) REQUIRES_LOCK(worker.mutex) {
    untold_ = worker.gradients() > told_gradients_ || worker.diverged() != told_diverged_;
    if (untold_ && clock_.seconds() >= told_seconds_ + kReportSeconds) send(worker);
  }
  /// Tells rank 0 at once if the run may go on without this process: rank 0 must know of an event
  /// before another worker can depend on it. Then a replay has it, even if this process dies.
  void testify(SharedWorker& worker) REQUIRES_LOCK(worker.mutex) {
    if (goes_on_ && post_.rank() != 0) send(worker);
  }
  /// For how many seconds nothing is to be told.
  double seconds_to_next() const {
    return untold_ ? std::max(0.0, told_seconds_ + kReportSeconds - clock_.seconds())
                   : kIdleSeconds;
  }

 private:
  // More frequent reports would cost more than the clocks gain.
  static constexpr double kReportSeconds = 0.5e-3;

  void send(SharedWorker& worker) REQUIRES_LOCK(worker.mutex) {
    if (goes_on_) {
      worker.log().flush();
      post_.send_submitted();
    }
    post_.send(0, mail_header(MailKind::progress, worker.gradients(), worker.report().exchanges,
                              worker.state().extra_bytes(), worker.diverged()));
    told_gradients_ = worker.gradients();
    told_diverged_ = worker.diverged();
    told_seconds_ = clock_.seconds();
    untold_ = false;
  }

  const Clock& clock_;
  Post& post_;
  const bool goes_on_;
  bool untold_ = false;  // rank 0 does not know all progress
  std::int64_t told_gradients_ = 0;
  bool told_diverged_ = false;
  double told_seconds_ = 0;  // time of the last report
};

}  // namespace acid

#include "engine/drivers/mpi/progress.hpp"

#include <algorithm>

namespace acid {
namespace {

// More frequent reports would cost more than the clocks gain.
constexpr double kReportSeconds = 0.5e-3;

}  // namespace

void Progress::tell(SharedWorker& worker) {
  untold_ = worker.gradients() > told_gradients_ || worker.diverged() != told_diverged_;
  if (untold_ && clock_.seconds() >= told_seconds_ + kReportSeconds) send(worker);
}

void Progress::testify(SharedWorker& worker) {
  if (goes_on_ && post_.rank() != 0) send(worker);
}

void Progress::send(SharedWorker& worker) {
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

double Progress::seconds_to_next() const {
  return untold_ ? std::max(0.0, told_seconds_ + kReportSeconds - clock_.seconds()) : kIdleSeconds;
}

}  // namespace acid

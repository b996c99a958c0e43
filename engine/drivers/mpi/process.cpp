#include "engine/drivers/mpi/process.hpp"

#include <algorithm>

#include "engine/base/error.hpp"
#include "engine/base/thread_group.hpp"

namespace acid {

Outcome Process::execute() {
  std::atomic<bool> failed{false};
  ThreadGroup crew([&] {
    failed.store(true);
    abandon();
    if (evaluator_ != nullptr) evaluator_->wake();
  });
  crew.start([this] { train(); });
  crew.start([this] { communicate(); });
  Outcome outcome;
  crew.join_after([&] {
    if (evaluator_ == nullptr) return;
    outcome = evaluator_->run_to_end([&] { return failed.load(); });
    if (!failed.load()) post_.submit(0, mail_header(MailKind::shut_down_wanted));
  });
  return outcome;
}

void Process::communicate() {
  std::stop_callback wake_up(run_.stop, [this] { post_.wake(); });
  double patience = 0;
  post_.send(0, mail_header(MailKind::window_opened));
  while (!abandoned_.load() && !(over_ && may_leave())) {
    post_.pump(patience, [this](const Mail& mail) { deliver(mail); });
    patience = act();
    if (run_.stop.stop_requested() && !told_stop_) {
      post_.send(0, mail_header(MailKind::stop, true));
      told_stop_ = true;
    }
    if (coordinator_ != nullptr) patience = std::min(patience, coordinator_->act());
  }
  post_.let_go();
  abandon();
}

void Process::deliver(const Mail& mail) {
  if (!mail.lost.empty()) return deliver_own(mail);
  switch (MailReader(mail).kind()) {
    case MailKind::window_opened:
      if (collector_->reads_window(mail.from))
        post_.send(mail.from, mail_header(MailKind::window_read));
      return;
    case MailKind::window_read:
      return window().is_read();
    case MailKind::shut_down:
      over_ = true;
      return;
    default:
      return deliver_own(mail);
  }
}

void Process::deliver_to_rank_zero(const Mail& mail) {
  const MailKind kind = MailReader(mail).kind();
  ACID_ASSERT(evaluator_ != nullptr, "message {} is for rank 0", static_cast<int>(kind));
  switch (kind) {
    case MailKind::shut_down_wanted:
      return post_.send_to_all(mail_header(MailKind::shut_down));
    case MailKind::events:
    case MailKind::notes:
    case MailKind::mark:
    case MailKind::state_vector:
      return collector_->deliver(mail);
    default:
      return coordinator_->deliver(mail);
  }
}

void Process::abandon() {
  abandoned_.store(true);
  release();
  post_.wake();
}

}  // namespace acid

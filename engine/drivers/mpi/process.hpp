#pragma once

#include <atomic>

#include "engine/base/thread_group.hpp"
#include "engine/drivers/mpi/report.hpp"

namespace acid {

/// Gives a message that is for rank 0 to its part of rank 0; on the others both are null.
template <class Coordinator>
void deliver_to_rank_zero(const Mail& mail, Coordinator* coordinator, Collector* collector) {
  const MailKind kind = MailReader(mail).kind();
  ACID_ASSERT(coordinator != nullptr && collector != nullptr, "message {} is for rank 0",
              static_cast<int>(kind));
  switch (kind) {
    case MailKind::events:
    case MailKind::notes:
    case MailKind::mark:
    case MailKind::state_vector:
      return collector->deliver(mail);
    default:
      return coordinator->deliver(mail);
  }
}

/// One process of a run under the mpi driver, from start to end: process.train() on a thread,
/// process.communicate() on another, and on rank 0, where `evaluator` and `collector` are, the
/// evaluator on the calling thread. When one of them fails the others are let go, and its exception
/// is rethrown.
template <class Process, class Evaluator>
Outcome run_process(Process& process, Evaluator* evaluator, Collector* collector, Post& post) {
  std::atomic<bool> failed{false};
  ThreadGroup crew([&] {
    failed.store(true);
    process.abandon();
    if (collector != nullptr) collector->wake();
  });
  crew.start([&] { process.train(); });
  crew.start([&] { process.communicate(); });
  Outcome outcome;
  if (evaluator != nullptr) try {
      outcome = evaluator->run_to_end([&] { return failed.load(); });
      if (!failed.load()) post.submit(0, mail_header(MailKind::shut_down_wanted));
    } catch (...) {
      process.abandon();
      throw;
    }
  crew.join();
  return outcome;
}

}  // namespace acid

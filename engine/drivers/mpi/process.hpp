#pragma once

#include <atomic>

#include "engine/base/thread_group.hpp"
#include "engine/drivers/mpi/report.hpp"

namespace acid {

/// Gives a message that is for rank 0 to its part of rank 0; on the others both are null.
template <class Lead>
void deliver_to_rank_zero(const Mail& mail, Lead* lead, Collector* collector) {
  const MailKind kind = MailReader(mail).kind();
  ACID_ASSERT(lead != nullptr && collector != nullptr, "message {} is for rank 0",
              static_cast<int>(kind));
  switch (kind) {
    case MailKind::events:
    case MailKind::notes:
    case MailKind::mark:
    case MailKind::state_vector:
      return collector->deliver(mail);
    default:
      return lead->deliver(mail);
  }
}

/// One process of a run under the mpi driver, from start to end: process.train() on a thread,
/// process.converse() on another, and on rank 0, where `director` and `collector` are, the
/// director on the calling thread. When one of them fails the others are let go, and its exception
/// is rethrown.
template <class Process, class Director>
Outcome run_process(Process& process, Director* director, Collector* collector, Post& post) {
  std::atomic<bool> failed{false};
  ThreadGroup crew([&] {
    failed.store(true);
    process.abandon();
    if (collector != nullptr) collector->wake();
  });
  crew.start([&] { process.train(); });
  crew.start([&] { process.converse(); });
  Outcome outcome;
  if (director != nullptr) try {
      outcome = director->direct([&] { return failed.load(); });
      if (!failed.load()) post.submit(0, mail_header(MailKind::farewell_wanted));
    } catch (...) {
      process.abandon();
      throw;
    }
  crew.join();
  return outcome;
}

}  // namespace acid

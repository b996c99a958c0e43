// How an asynchronous run under the mpi driver goes on when a process is lost.
#include <utility>

#include "engine/drivers/mpi/meetings.hpp"

namespace acid {

// Rank 0 has to know of an event before another worker can depend on it: should this process die
// now, those events can be executed again.
void MpiAsync::testify() {
  if (options_.goes_on && rank_ != 0) send_progress();
}

void MpiAsync::lose(const Mail& mail) {
  if (coordinator_ != nullptr)
    if (const auto life = collector_->lose(mail.from, coordinator_->life(mail.from)))
      coordinator_->lose(mail, *life);
  MutexLock lock(mutex_);
  gone_[static_cast<std::size_t>(mail.from)] = true;
  if (stage_ != Stage::none && partner() == mail.from) give_up_exchange();
  for (const DueEdge& edge : std::exchange(edges_, {})) queue(edge);
  changed_.notify_all();
}

// Its edge is still the first of edges_. What was offered stays offered, and is never applied.
void MpiAsync::give_up_exchange() {
  if (stage_ == Stage::gone) time_.thaw();
  stage_ = Stage::none;
  in_flight_ = false;
}

void MpiAsync::queue(const DueEdge& edge) {
  if (gone_[static_cast<std::size_t>(edge.i)] || gone_[static_cast<std::size_t>(edge.j)])
    left_out_.add(edge.i, edge.j);
  else
    edges_.push_back(edge);
}

}  // namespace acid

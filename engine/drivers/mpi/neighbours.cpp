#include "engine/drivers/mpi/neighbours.hpp"

#include <algorithm>
#include <utility>

#include "engine/base/error.hpp"

namespace acid {

NeighbourExchange::NeighbourExchange(Post& post, std::span<const Neighbour> neighbours,
                                     std::size_t dimension, const Backend& memory,
                                     std::function<void()> over)
    : post_(post), neighbours_(neighbours), over_(std::move(over)), published_(dimension, memory) {
  for (auto& vectors : received_)
    for (std::size_t k = 0; k < neighbours_.size(); ++k) vectors.emplace_back(dimension, memory);
}

void NeighbourExchange::publish(std::int64_t round) {
  ACID_ASSERT(!in_flight_, "round {} begins before round {} is over", round, round_);
  in_flight_ = true;
  round_ = round;
  leaving_ = neighbours_.size();
  for (const Neighbour& neighbour : neighbours_)
    post_.send(neighbour.worker, mail_header(MailKind::parameters, round), published_.span(),
               [this] {
                 --leaving_;
                 check_over();
               });
  check_over();
}

void NeighbourExchange::deliver(const Mail& mail) {
  std::int64_t round = 0;
  MailReader reader(mail);
  reader(round);
  const auto sender = std::find_if(neighbours_.begin(), neighbours_.end(),
                                   [&](const Neighbour& one) { return one.worker == mail.from; });
  ACID_ASSERT(sender != neighbours_.end(), "rank {} is no neighbour of rank {}", mail.from,
              post_.rank());
  auto& vectors = received_[round % 2];
  post_.fetch(mail, vectors[static_cast<std::size_t>(sender - neighbours_.begin())].span(),
              [this, round] {
                ++arrived_[round % 2];
                check_over();
              });
}

std::vector<const float*> NeighbourExchange::received(std::int64_t round) const {
  std::vector<const float*> vectors(static_cast<std::size_t>(post_.size()));
  for (std::size_t k = 0; k < neighbours_.size(); ++k)
    vectors[static_cast<std::size_t>(neighbours_[k].worker)] = received_[round % 2][k].data();
  return vectors;
}

void NeighbourExchange::check_over() {
  std::size_t& arrived = arrived_[round_ % 2];
  if (!in_flight_ || arrived < neighbours_.size() || leaving_ > 0) return;
  arrived = 0;
  in_flight_ = false;
  over_();
}

}  // namespace acid

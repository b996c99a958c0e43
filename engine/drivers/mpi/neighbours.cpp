#include "engine/drivers/mpi/neighbours.hpp"

#include <algorithm>
#include <utility>

#include "engine/base/error.hpp"

namespace acid {

NeighbourExchange::NeighbourExchange(Post& post, const PeerSchedule& peers, const Backend& memory,
                                     std::function<void()> over)
    : post_(post),
      peers_(peers),
      over_(std::move(over)),
      form_(peers.form()),
      memory_(memory),
      published_(form_.floats(), memory),
      packed_(form_.is_packed() ? form_.packed_floats() : 0, memory) {}

void NeighbourExchange::publish(std::int64_t round) {
  ACID_ASSERT(!in_flight_, "round {} begins before round {} is over", round, round_);
  in_flight_ = true;
  round_ = round;
  exchange_ = peers_.exchange(round);
  for (auto one = arrivals_.begin(); one != arrivals_.end();) {
    const auto heard = one++;
    if (heard->round < round) unused_.splice(unused_.end(), arrivals_, heard);
  }
  const std::vector<int>& receivers = exchange_->receivers[static_cast<std::size_t>(post_.rank())];
  leaving_ = receivers.size();
  unasked_ = 0;
  const std::span<const float> body =
      form_.pack(post_.rank(), static_cast<std::uint64_t>(round),
                 published_.span().first(form_.floats(round)), packed_.span());
  const auto& heard = exchange_->weights.neighbours[static_cast<std::size_t>(post_.rank())];
  for (const int receiver : receivers) {
    if (form_.needs_own() && std::ranges::find(heard, receiver, &Neighbour::worker) == heard.end())
      ++unasked_;
    post_.send(receiver, mail_header(MailKind::parameters, round), body, [this] {
      --leaving_;
      check_over();
    });
  }
  for (Arrival& one : arrivals_) decode(one);
  check_over();
}

void NeighbourExchange::deliver(const Mail& mail) {
  MailReader reader(mail);
  std::int64_t round = 0;
  reader(round);
  if (reader.kind() == MailKind::gaps) {
    ACID_ASSERT(in_flight_ && round == round_ && unasked_ > 0, "rank {} has gaps in round {}",
                mail.from, round);
    answer_gaps(post_, mail, published_.span());
    --unasked_;
    return check_over();
  }
  if (reader.kind() == MailKind::parameters) {
    if (unused_.empty()) unused_.push_back({Incoming(post_, form_, memory_)});
    arrivals_.splice(arrivals_.end(), unused_, unused_.begin());
    arrivals_.back().round = round;
    arrivals_.back().from = mail.from;
  }
  for (Arrival& one : arrivals_)
    if (one.round == round && one.from == mail.from)
      one.message.fetch(mail, round, [this, &one] { decode(one); });
}

void NeighbourExchange::decode(Arrival& arrival) {
  if (form_.needs_own() && (!in_flight_ || arrival.round != round_)) return;
  const bool is_mutual =
      !form_.needs_own() ||
      std::ranges::binary_search(exchange_->receivers[static_cast<std::size_t>(post_.rank())],
                                 arrival.from);
  arrival.message.decode(published_.span().first(form_.floats(arrival.round)), is_mutual);
  check_over();
}

void NeighbourExchange::check_over() {
  if (!in_flight_ || leaving_ > 0 || unasked_ > 0) return;
  received_.assign(static_cast<std::size_t>(post_.size()), nullptr);
  for (Arrival& one : arrivals_)
    if (one.round == round_ && one.message.is_whole())
      received_[static_cast<std::size_t>(one.from)] = one.message.message().data();
  for (const Neighbour& heard :
       exchange_->weights.neighbours[static_cast<std::size_t>(post_.rank())])
    if (received_[static_cast<std::size_t>(heard.worker)] == nullptr) return;
  in_flight_ = false;
  over_();
}

}  // namespace acid

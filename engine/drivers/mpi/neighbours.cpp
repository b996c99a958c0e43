#include "engine/drivers/mpi/neighbours.hpp"

#include <algorithm>
#include <utility>

#include "engine/base/error.hpp"

namespace acid {

NeighbourExchange::NeighbourExchange(Post& post, const PeerSchedule& peers,
                                     const PackedMessage& form, const Backend& memory,
                                     std::function<void()> over)
    : post_(post),
      peers_(peers),
      over_(std::move(over)),
      form_(form),
      memory_(memory),
      published_(form.floats(), memory),
      packed_(form.is_packed() ? form.packed_floats() : 0, memory) {}

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
  const std::span<const float> whole = published_.span().first(form_.floats(round));
  const std::span<float> packed =
      packed_.span().first(form_.is_packed() ? form_.packed_floats(round) : 0);
  if (form_.is_packed()) form_.pack(post_.rank(), static_cast<std::uint64_t>(round), whole, packed);
  const std::span<const float> body = form_.is_packed() ? packed : whole;
  for (const int receiver : receivers)
    post_.send(receiver, mail_header(MailKind::parameters, round), body, [this] {
      --leaving_;
      check_over();
    });
  check_over();
}

NeighbourExchange::Arrival& NeighbourExchange::room() {
  if (unused_.empty()) {
    arrivals_.emplace_back();
    arrivals_.back().vector = Arena<float>(form_.floats(), memory_);
    arrivals_.back().packed = Arena<float>(packed_.size(), memory_);
  } else {
    arrivals_.splice(arrivals_.end(), unused_, unused_.begin());
  }
  return arrivals_.back();
}

void NeighbourExchange::deliver(const Mail& mail) {
  Arrival& arrival = room();
  MailReader reader(mail);
  reader(arrival.round);
  arrival.from = mail.from;
  arrival.is_whole = false;
  const std::span<float> whole = arrival.vector.span().first(form_.floats(arrival.round));
  const std::span<float> packed =
      arrival.packed.span().first(form_.is_packed() ? form_.packed_floats(arrival.round) : 0);
  post_.fetch(mail, form_.is_packed() ? packed : whole, [this, &arrival, whole, packed] {
    if (form_.is_packed()) form_.unpack(arrival.from, arrival.round, packed, {}, whole);
    arrival.is_whole = true;
    check_over();
  });
}

void NeighbourExchange::check_over() {
  if (!in_flight_ || leaving_ > 0) return;
  received_.assign(static_cast<std::size_t>(post_.size()), nullptr);
  for (const Arrival& one : arrivals_)
    if (one.round == round_ && one.is_whole)
      received_[static_cast<std::size_t>(one.from)] = one.vector.data();
  for (const Neighbour& heard :
       exchange_->weights.neighbours[static_cast<std::size_t>(post_.rank())])
    if (received_[static_cast<std::size_t>(heard.worker)] == nullptr) return;
  in_flight_ = false;
  over_();
}

}  // namespace acid

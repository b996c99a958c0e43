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
  const auto& heard = exchange_->weights.neighbours[static_cast<std::size_t>(post_.rank())];
  unasked_ =
      form_.needs_own()
          ? leaving_ - static_cast<std::size_t>(std::ranges::count_if(
                           heard, [this](const Neighbour& one) { return is_heard_by(one.worker); }))
          : 0;
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
  for (Arrival& one : arrivals_) unpack_with_own(one);
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
  if (MailReader(mail).kind() == MailKind::again) return fetch_again(mail);
  if (MailReader(mail).kind() == MailKind::lacking) return fetch_lacking(mail);
  Arrival& arrival = room();
  MailReader reader(mail);
  reader(arrival.round);
  arrival.from = mail.from;
  arrival.is_there = arrival.is_whole = false;
  arrival.sent_again.reset();
  const std::span<float> whole = arrival.vector.span().first(form_.floats(arrival.round));
  const std::span<float> packed =
      arrival.packed.span().first(form_.is_packed() ? form_.packed_floats(arrival.round) : 0);
  post_.fetch(mail, form_.is_packed() ? packed : whole, [this, &arrival, whole, packed] {
    arrival.is_there = true;
    if (form_.needs_own()) return unpack_with_own(arrival);
    if (form_.is_packed()) form_.unpack(arrival.from, arrival.round, packed, {}, whole);
    arrival.is_whole = true;
    check_over();
  });
}

bool NeighbourExchange::is_heard_by(int worker) const {
  const std::vector<int>& receivers = exchange_->receivers[static_cast<std::size_t>(post_.rank())];
  return std::ranges::find(receivers, worker) != receivers.end();
}

// Where both hear each other, they find by themselves which parts did not fit, and send them.
void NeighbourExchange::unpack_with_own(Arrival& arrival) {
  if (!form_.needs_own() || !in_flight_ || arrival.round != round_ || !arrival.is_there ||
      arrival.sent_again)
    return;
  const auto own = std::as_const(published_).span().first(form_.floats(round_));
  const std::span<float> whole = arrival.vector.span().first(own.size());
  form_.unpack(arrival.from, round_, arrival.packed.span().first(form_.packed_floats(round_)), own,
               whole);
  arrival.sent_again = form_.sent_again(round_, own, whole);
  const bool mutual = is_heard_by(arrival.from);
  if (!mutual)
    post_.send(arrival.from, mail_header(MailKind::lacking, round_, *arrival.sent_again));
  if (arrival.sent_again->empty()) {
    arrival.is_whole = true;
    return check_over();
  }
  if (mutual) send_again(arrival.from, *arrival.sent_again);
  fill_in(arrival);
}

void NeighbourExchange::send_again(int to, const std::vector<Lattice::Block>& parts) {
  post_.send(to, mail_header(MailKind::again, round_), parts_of(published_.span(), parts));
}

void NeighbourExchange::fetch_lacking(const Mail& mail) {
  std::int64_t round = 0;
  std::vector<Lattice::Block> parts;
  MailReader reader(mail);
  reader(round, parts);
  ACID_ASSERT(in_flight_ && round == round_ && unasked_ > 0, "rank {} lacks parts of round {}",
              mail.from, round);
  if (!parts.empty()) send_again(mail.from, parts);
  --unasked_;
  check_over();
}

void NeighbourExchange::fetch_again(const Mail& mail) {
  std::int64_t round = 0;
  MailReader reader(mail);
  reader(round);
  const auto parts = std::make_shared<std::vector<float>>(mail.body_size);
  post_.fetch(mail, *parts, [this, parts, round, from = mail.from] {
    again_[{round, from}] = std::move(*parts);
    for (Arrival& one : arrivals_)
      if (one.round == round && one.from == from) fill_in(one);
  });
}

// The sender may be first: its parts wait until its message is unpacked here.
void NeighbourExchange::fill_in(Arrival& arrival) {
  const auto again = again_.find({arrival.round, arrival.from});
  if (!arrival.sent_again || again == again_.end()) return;
  put_parts(again->second, *arrival.sent_again, arrival.vector.span());
  again_.erase(again);
  arrival.is_whole = true;
  check_over();
}

void NeighbourExchange::check_over() {
  if (!in_flight_ || leaving_ > 0 || unasked_ > 0) return;
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

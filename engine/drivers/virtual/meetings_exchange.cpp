// How an asynchronous virtual run carries out its exchanges.
#include "engine/drivers/virtual/meetings.hpp"

namespace acid {

namespace {

constexpr std::int64_t kExchangesPerReport = 4096;  // of progress, where no gradients tell it

}  // namespace

void VirtualAsync::handle_due_edge() {
  const DueEdge edge = schedule_.pop();
  if (fetches_ahead_) fetch_exchanges();
  if (instant_) return exchange_at_once(edge);
  matchmaker_.add(edge);
  start_ready_exchanges();
}

void VirtualAsync::exchange_at_once(const DueEdge& edge) {
  totals_.position.bytes += RunSpec::bytes_per_exchange(ensemble_.dimension());
  matchmaker_.pass();
  submit_exchange(edge);
  for (const int w : {edge.i, edge.j}) end_span(w, SpanKind::exchange, seconds_);
  count_exchange(edge);
}

void VirtualAsync::start_ready_exchanges() {
  const double bytes = ensemble_.vector_bytes();
  while (const auto edge = matchmaker_.take()) {
    totals_.position.bytes += RunSpec::bytes_per_exchange(ensemble_.dimension());
    const double duration = options_.network.between(edge->i, edge->j).seconds(bytes);
    state(edge->i).exchanging_since = state(edge->j).exchanging_since = seconds_;
    if (duration == 0) {
      submit_exchange(*edge);
      exchange_done(*edge);
    } else {
      submit_offer(*edge);
      push({.seconds = seconds_ + duration,
            .worker = edge->i,
            .kind = Occurrence::Kind::exchange_done});
    }
  }
}

void VirtualAsync::exchange_done(const DueEdge& edge) {
  matchmaker_.finish(edge);
  for (const int w : {edge.i, edge.j}) end_span(w, SpanKind::exchange, state(w).exchanging_since);
  count_exchange(edge);
  release_if_caught_up(edge.i);
  release_if_caught_up(edge.j);
}

void VirtualAsync::count_exchange(const DueEdge& edge) {
  ++totals_.exchanges;
  edges_.add(edge.i, edge.j);
  if (!consensus_only()) return;  // commits tell how far the run is
  totals_.position.normalised_time = time_;
  totals_.position.seconds = seconds_;
  if (totals_.exchanges % kExchangesPerReport == 0) run_.recorder.progress(totals_.position);
  budget_spent();
}

void VirtualAsync::submit_exchange(const DueEdge& edge) {
  pool_.submit(edge.i, edge.j, ChainPool::Weight::light, [this, edge, t = time_](int) {
    Worker& i = ensemble_.worker(edge.i);
    Worker& j = ensemble_.worker(edge.j);
    Worker::exchange(i, j, t);
    log_.add(edge.i, EventKind::exchange, t, i, edge.number);
    log_.add(edge.j, EventKind::exchange, t, j, edge.number);
  });
}

void VirtualAsync::submit_offer(const DueEdge& edge) {
  WorkerState& i = state(edge.i);
  WorkerState& j = state(edge.j);
  i.partner = edge.j;
  j.partner = edge.i;
  i.offered = j.offered = time_;
  pool_.submit(edge.i, edge.j, ChainPool::Weight::light, [this, edge, t = time_](int) {
    for (const int w : {edge.i, edge.j}) {
      ensemble_.worker(w).offer(t, offer(w));
      log_.add(w, EventKind::offer, t, ensemble_.worker(w), edge.number);
    }
  });
}

void VirtualAsync::submit_apply(const DueEdge& edge) {
  pool_.submit(edge.i, edge.j, ChainPool::Weight::light,
               [this, edge, t = time_, offered = state(edge.i).offered](int) {
                 ensemble_.worker(edge.i).apply(t, offered, offer(edge.i), offer(edge.j));
                 ensemble_.worker(edge.j).apply(t, offered, offer(edge.j), offer(edge.i));
                 for (const int w : {edge.i, edge.j})
                   log_.add(w, EventKind::apply, t, ensemble_.worker(w), edge.number);
               });
  state(edge.i).partner = state(edge.j).partner = -1;
}

std::span<float> VirtualAsync::offer(int w) {
  return offers_.span().subspan(static_cast<std::size_t>(w) * offer_stride_, ensemble_.dimension());
}

std::span<const float> VirtualAsync::offer(int w) const {
  return offers_.span().subspan(static_cast<std::size_t>(w) * offer_stride_, ensemble_.dimension());
}

std::vector<ExchangeInFlight> VirtualAsync::exchanges_in_flight() const {
  std::vector<ExchangeInFlight> list;
  for (std::size_t i = 0; i < states_.size(); ++i) {
    const int j = states_[i].partner;
    if (j > static_cast<int>(i))
      list.push_back({static_cast<int>(i), j, states_[i].offered, offer(static_cast<int>(i)).data(),
                      offer(j).data()});
  }
  return list;
}

}  // namespace acid

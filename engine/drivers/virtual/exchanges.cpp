#include "engine/drivers/virtual/exchanges.hpp"

#include <utility>

#include "engine/base/error.hpp"

namespace acid {
namespace {

constexpr const char* kOffers = "offer";

std::size_t message_size(const Run& run) {
  return run.spec.method.message().floats(run.objective.dimension());
}
double message_bytes(const Run& run) {
  const std::size_t dimension = run.spec.travelling(run.objective.dimension());
  return static_cast<double>(run.spec.method.packed_message(dimension).bytes());
}

}  // namespace

VirtualExchanges::VirtualExchanges(const Run& run, const VirtualOptions& options,
                                   Timetable& timetable, VirtualWorkers& workers, Player& player)
    : network_(options.network),
      timetable_(timetable),
      workers_(workers),
      player_(player),
      message_size_(message_size(run)),
      message_bytes_(message_bytes(run)),
      own_seconds_(options.cost.exchange_seconds),
      instant_(options.has_instant_exchanges()),
      fetches_ahead_(options.threads == 0 &&
                     4.0 * static_cast<double>(message_size_) <= kLongestFetched),
      schedule_(*run.spec.topology, run.spec.method.saturates ? 0 : run.spec.method.rate,
                run.spec.seeds),
      matchmaker_(run.spec.workers) {
  if (run.spec.method.saturates && run.spec.workers > 1)
    pairs_.emplace(*run.spec.topology, run.spec.seeds);
  ACID_ASSERT(!pairs_ || !instant_, "workers exchange all the time, which takes none");
  if (instant_) return;
  if (network_.shares_cards()) cards_.emplace(network_.cards(false));
  constexpr std::size_t kLine = 64 / sizeof(float);
  offer_stride_ = (message_size_ + kLine - 1) / kLine * kLine;
  offers_ =
      Arena<float>(static_cast<std::size_t>(run.spec.workers) * offer_stride_, *run.spec.backend);
}

DueEdge VirtualExchanges::pop_due() {
  const DueEdge edge = schedule_.pop();
  if (fetches_ahead_) fetch_ahead();
  if (!instant_) matchmaker_.add(edge);
  return edge;
}

void VirtualExchanges::draw_pairs() {
  for (const auto& [i, j] : pairs_->draw())
    matchmaker_.add({static_cast<std::uint64_t>(matchmaker_.due()), timetable_.time(), i, j});
}

void VirtualExchanges::set_free(int w) {
  if (!pairs_ || workers_.state(w).pays || matchmaker_.is_busy(w)) return;
  const bool planned = pairs_->has_new();
  pairs_->add(w);
  if (!planned && pairs_->has_new()) plan_pairs();
}

void VirtualExchanges::plan_pairs() {
  if (pairs_)
    timetable_.push({.seconds = timetable_.seconds(),
                     .worker = player_.ensemble().size(),
                     .kind = Occurrence::Kind::pairs_meet});
}

void VirtualExchanges::exchange_at_once(const DueEdge& edge) {
  matchmaker_.pass();
  player_.exchange(edge.i, edge.j, timetable_.time(), edge.number);
  end_spans(edge, timetable_.seconds(), timetable_.seconds());
  edges_.add(edge.i, edge.j);
}

bool VirtualExchanges::begin(const DueEdge& edge) {
  const LinkCost& link = network_.between(edge.i, edge.j);
  const double duration = network_.meeting_seconds(edge.i, edge.j, message_bytes_) + own_seconds_;
  const double now = timetable_.seconds();
  workers_.state(edge.i).exchanging_since = workers_.state(edge.j).exchanging_since = now;
  const bool over_cards = cards_ && network_.share_a_card(edge.i, edge.j);
  if (duration == 0 && !over_cards) {
    player_.exchange(edge.i, edge.j, timetable_.time(), edge.number);
    return false;
  }
  offer(edge);
  if (over_cards && !ended_)
    cards_->begin(edge.i, network_.way(edge.i, edge.j, false), message_bytes_,
                  link.most_bytes_per_second(), now);
  else
    plan_end(edge.i, now + duration);
  return true;
}

void VirtualExchanges::plan_end(int first, double seconds) {
  timetable_.push({.seconds = seconds, .worker = first, .kind = Occurrence::Kind::exchange_done});
}

void VirtualExchanges::leave_cards() {
  for (const int i : cards_->end_next()) {
    const int j = workers_.state(i).partner;
    plan_end(i, timetable_.seconds() + network_.between(i, j).latency_seconds +
                    network_.overhead_of_meeting(i, j) + own_seconds_);
  }
}

void VirtualExchanges::end() {
  ended_ = true;
  while (cards_ && !cards_->idle()) leave_cards();
}

void VirtualExchanges::offer(const DueEdge& edge) {
  VirtualWorkers::State& i = workers_.state(edge.i);
  VirtualWorkers::State& j = workers_.state(edge.j);
  i.partner = edge.j;
  j.partner = edge.i;
  i.offered = j.offered = timetable_.time();
  player_.pool().submit(
      edge.i, edge.j, ChainPool::Weight::light, [this, edge, t = timetable_.time()](int) {
        for (const int w : {edge.i, edge.j}) {
          player_.ensemble().worker(w).offer(t, offer_of(w));
          player_.log().add(w, EventKind::offer, t, player_.ensemble().worker(w), edge.number);
        }
      });
}

void VirtualExchanges::apply(const DueEdge& edge) {
  player_.pool().submit(
      edge.i, edge.j, ChainPool::Weight::light,
      [this, edge, t = timetable_.time(), offered = workers_.state(edge.i).offered](int) {
        Ensemble& ensemble = player_.ensemble();
        ensemble.worker(edge.i).apply(t, offered, offer_of(edge.i), offer_of(edge.j));
        ensemble.worker(edge.j).apply(t, offered, offer_of(edge.j), offer_of(edge.i));
        for (const int w : {edge.i, edge.j})
          player_.log().add(w, EventKind::apply, t, ensemble.worker(w), edge.number);
      });
  workers_.state(edge.i).partner = workers_.state(edge.j).partner = -1;
}

void VirtualExchanges::finish(const DueEdge& edge) {
  matchmaker_.finish(edge);
  for (const int w : {edge.i, edge.j}) {
    workers_.owe(w);
    set_free(w);
  }
  end_spans(edge, workers_.state(edge.i).exchanging_since, workers_.state(edge.j).exchanging_since);
  edges_.add(edge.i, edge.j);
}

void VirtualExchanges::end_spans(const DueEdge& edge, double since_i, double since_j) {
  workers_.end_span(edge.i, SpanKind::exchange, since_i);
  workers_.end_span(edge.j, SpanKind::exchange, since_j);
}

std::span<float> VirtualExchanges::offer_of(int w) {
  return offers_.span().subspan(static_cast<std::size_t>(w) * offer_stride_, message_size_);
}

std::vector<ExchangeInFlight> VirtualExchanges::in_flight() {
  std::vector<ExchangeInFlight> list;
  for (int i = 0; i < player_.ensemble().size(); ++i) {
    const int j = workers_.state(i).partner;
    if (j > i)
      list.push_back({i, j, workers_.state(i).offered, offer_of(i).data(), offer_of(j).data()});
  }
  return list;
}

// An offer of one vector has the tensors of the model.
std::vector<Segment> VirtualExchanges::offer_segments() const {
  if (message_size_ == player_.ensemble().dimension())
    return player_.ensemble().vectors().front().segments;
  const auto size = static_cast<std::int64_t>(message_size_);
  return {{.name = kOffers, .shape = {size}, .offset = 0, .size = size}};
}

std::vector<StateVectors> VirtualExchanges::vectors() {
  if (instant_) return {};
  StateVectors offers{kOffers, offer_segments(), {}, /*compared=*/false};  // they are past
  for (int w = 0; w < player_.ensemble().size(); ++w) offers.values.push_back(offer_of(w));
  return {std::move(offers)};
}

void VirtualExchanges::restore(const CheckpointFile& file) {
  if (!instant_) {
    std::vector<std::span<float>> offers;
    for (int w = 0; w < player_.ensemble().size(); ++w) offers.push_back(offer_of(w));
    file.read(kOffers, offer_segments(), offers);
  }
  while (matchmaker_.take()) {  // those in flight
  }
}

}  // namespace acid

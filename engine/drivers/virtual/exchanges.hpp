#pragma once

#include <optional>
#include <span>
#include <vector>

#include "engine/drivers/shared/matchmaker.hpp"
#include "engine/drivers/shared/player.hpp"
#include "engine/drivers/virtual/virtual_workers.hpp"
#include "engine/methods/cards.hpp"
#include "engine/run/outcome.hpp"
#include "engine/topology/edge_schedule.hpp"
#include "engine/topology/free_pairs.hpp"

namespace acid {

/// The exchanges of an asynchronous virtual run, from the drawn list to their end; or, where they
/// saturate the network (Method::saturates), from the draw among workers that are free. One takes
/// as long as its message and what it takes of the partners' own time: both offer at its beginning
/// and apply at its end. Where that is no time, each exchange is over before the next begins, and
/// no worker waits. Everything belongs to the public thread, but offers, which belong to their
/// workers' chains.
class VirtualExchanges {
 public:
  /// The largest vector, in bytes, that is worth fetching ahead.
  static constexpr double kLongestFetched = 1024;

  /// The arguments outlive this; `player` may be constructed later.
  VirtualExchanges(const Run& run, const VirtualOptions& options, Timetable& timetable,
                   VirtualWorkers& workers, Player& player);

  bool instant() const { return instant_; }
  bool fetches_ahead() const { return fetches_ahead_; }
  const Matchmaker& matchmaker() const { return matchmaker_; }
  EdgeCounter& edges() { return edges_; }  // counts the exchanges that are over

  double next_due() const { return schedule_.peek().due; }
  /// Takes the next due edge of the drawn list. Instant exchanges must then be done with
  /// exchange_at_once(); other edges wait.
  DueEdge pop_due();
  void exchange_at_once(const DueEdge& edge);
  /// Draws exchanges of workers that have become free; take() has them.
  void draw_pairs();
  /// Worker w is free to exchange, unless it has an exchange in flight or pays for one. Nothing
  /// where exchanges are drawn beforehand, as below.
  void set_free(int w);
  void set_busy(int w) {
    if (pairs_) pairs_->remove(w);
  }
  /// Plans the next draw_pairs() for this moment, after everything else that happens then.
  void plan_pairs();
  /// Returns an edge whose exchange begins now.
  std::optional<DueEdge> take() { return matchmaker_.take(); }
  /// Begins an exchange. Returns false if it took no time; else the Timetable has its end.
  bool begin(const DueEdge& edge);
  /// Both partners apply, at the end of the exchange.
  void apply(const DueEdge& edge);
  void finish(const DueEdge& edge);
  std::vector<ExchangeInFlight> in_flight();
  /// When the next messages have left the cards that they share with others: then leave_cards()
  /// plans the ends of their exchanges.
  double next_off_cards() { return cards_ ? cards_->next_end() : kNever; }
  void leave_cards();
  /// Time stands still from now on: exchanges that have begun end now.
  void end();

  /// The offers, for a checkpoint.
  std::vector<StateVectors> vectors();
  void restore(const CheckpointFile& file);
  /// The state without offers, edges() and the workers' own state.
  template <class Archive>
  void persist(Archive& archive) {
    archive(schedule_, matchmaker_);
    if (cards_) archive(*cards_);
    if (pairs_) archive(*pairs_);
  }

 private:
  void fetch_ahead() const;  // into the cache (prefetch.cpp)
  void offer(const DueEdge& edge);
  /// Worker w's offer. Not callable when every exchange is instant.
  std::span<float> offer_of(int w);
  std::vector<Segment> offer_segments() const;
  void end_spans(const DueEdge& edge, double since_i, double since_j);
  /// Plans the end of the exchange whose first worker this is.
  void plan_end(int first, double seconds);

  const NetworkModel& network_;
  Timetable& timetable_;
  VirtualWorkers& workers_;
  Player& player_;
  const std::size_t message_size_;
  const double message_bytes_;  // as it travels
  const double own_seconds_;    // CostModel::exchange_seconds
  const bool instant_;
  const bool fetches_ahead_;
  std::size_t offer_stride_ = 0;
  Arena<float> offers_;             // all workers'; empty when instant_
  EdgeSchedule schedule_;           // empty with pairs_
  std::optional<FreePairs> pairs_;  // where exchanges saturate the network
  Matchmaker matchmaker_;
  EdgeCounter edges_;
  // Both messages of an exchange have the same bytes and cards, each its own way, so one stands for
  // both; its name is the first worker's number. Absent where no messages share cards.
  std::optional<Cards> cards_;
  bool ended_ = false;
};

}  // namespace acid

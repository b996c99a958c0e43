#pragma once

#include <algorithm>
#include <optional>

#include "engine/drivers/virtual/events.hpp"
#include "engine/drivers/virtual/exchanges.hpp"
#include "engine/drivers/virtual/gradient_rings.hpp"

namespace acid {

/// Pairs that meet at the times of a drawn list, and the throttle, which holds a worker that falls
/// behind its exchanges; or pairs of free workers that meet at once.
class MeetingCalendar final : public Calendar {
 public:
  explicit MeetingCalendar(EventState& state);

  void begin() override {
    state_.workers.begin();
    exchanges_.plan_pairs();
  }
  void resume(const CheckpointFile& file) override;
  double next_due() const override { return exchanges_.next_due(); }
  void handle_due() override;
  void handle(const Occurrence& occurrence) override;
  double next_ring() override {
    return std::min(exchanges_.next_off_cards(), rings_ ? rings_->peek().seconds : kNever);
  }
  void handle_ring() override;
  std::vector<ExchangeInFlight> in_flight() override { return exchanges_.in_flight(); }
  void end() override;
  std::vector<StateVectors> vectors() override { return exchanges_.vectors(); }
  void persist(ArchiveWriter& archive) override { persist_all(archive); }
  void persist(ArchiveReader& archive) override { persist_all(archive); }
  void tell(Outcome& outcome) override;

 private:
  template <class Archive>
  void persist_all(Archive& archive);
  void gradient_done(int w);
  bool is_behind(int w) const;
  void commit(int w, bool begins_next);
  void gather_notes();
  void fetch_gradients();  // into the cache (prefetch.cpp)
  void hold(int w);
  void release_if_caught_up(int w);
  void start_ready_exchanges();
  void exchange_done(const DueEdge& edge);
  void count_exchange();
  bool consensus_only() const { return state_.options.gradient_clock == GradientClock::none; }

  EventState& state_;
  const std::int64_t bytes_per_exchange_;
  VirtualExchanges exchanges_;
  std::optional<GradientRings> rings_;  // under the Poisson clock
  std::int64_t holds_ = 0, waiting_at_end_ = 0;
};

}  // namespace acid

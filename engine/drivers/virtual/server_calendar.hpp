#pragma once

#include <vector>

#include "engine/drivers/shared/rounds.hpp"
#include "engine/drivers/virtual/events.hpp"

namespace acid {

/// Every worker walks through the round at its own pace. Its message arrives at its server, which
/// hears and answers at once and, if it is a hub, may then send a message to the server above.
class ServerCalendar final : public Calendar {
 public:
  explicit ServerCalendar(EventState& state);

  void begin() override;
  void resume(const CheckpointFile& file) override;
  void handle(const Occurrence& occurrence) override;
  void persist(ArchiveWriter& archive) override { persist_all(archive); }
  void persist(ArchiveReader& archive) override { persist_all(archive); }
  void tell(Outcome& outcome) override { outcome.exchanges_drawn = state_.totals.exchanges; }

 private:
  struct Walk {
    RoundPlace place;
    bool computing = false;      // the gradient has begun, and no step has followed
    bool waiting = false;        // for the reply, in the phase hear
    bool replied = false;        // the reply has arrived
    std::int64_t arrival = 0;    // number of the worker's last message at any server, from 1
    std::int64_t staleness = 0;  // of the worker's last gradient
    double learning_rate = 0;    // of the worker's last gradient; before it of its first
    template <class Archive>
    void persist(Archive& archive) {
      archive(place, computing, waiting, replied, arrival, staleness, learning_rate);
    }
  };
  Walk& walk(int w) { return walks_[static_cast<std::size_t>(w)]; }
  template <class Archive>
  void persist_all(Archive& archive);
  /// Walks on until the worker computes or waits; once the run has ended, until its next leg.
  void go_on(int w);
  bool hears(int w);
  void begin_gradient(int w);
  void gradient_done(int w);
  void commit(int w);
  // The argument is a caller (Servers).
  void say(int caller);
  void serve(int caller);
  void hear(int caller);
  /// Plans the arrival of a caller's message or reply after so many bytes on its server's link.
  Method::Bytes bytes_of(int caller) const;
  void push(int caller, Occurrence::Kind kind, std::size_t bytes);
  /// A server's link to its callers: the seconds at which each direction is free.
  struct Link {
    double in_free = 0, out_free = 0;
    template <class Archive>
    void persist(Archive& archive) {
      archive(in_free, out_free);
    }
  };
  ServerMessages& messages() { return servers().messages(); }
  Servers& servers() { return state_.shell.ensemble.servers(); }
  bool is_hub(int caller) const { return caller >= state_.spec.workers; }

  EventState& state_;
  std::vector<Walk> walks_;
  std::int64_t arrivals_ = 0;  // at all servers, from workers
  const LinkCost link_above_;  // between hubs and the server above
  std::vector<Link> links_;    // by server
};

}  // namespace acid

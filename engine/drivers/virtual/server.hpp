#pragma once

#include <vector>

#include "engine/drivers/virtual/events.hpp"

namespace acid {

/// Every worker walks through the round at its own pace; what it says arrives at its server, which
/// hears and answers at once, and then, if it is a hub, may send a message to the one above.
class ServerCalendar final : public Calendar {
 public:
  explicit ServerCalendar(EventState& state);

  static constexpr std::string_view kLayout = "virtual-server/3";
  std::string_view layout() const override { return kLayout; }
  void begin() override;
  void resume(const CheckpointFile& file) override;
  void handle(const Occurrence& occurrence) override;
  void add_vectors(std::vector<StateVectors>& vectors) override { messages_.add_to(vectors); }
  void persist(ArchiveWriter& archive) override { persist_all(archive); }
  void persist(ArchiveReader& archive) override { persist_all(archive); }
  void tell(Outcome& outcome) override { outcome.exchanges_drawn = state_.totals.exchanges; }

 private:
  /// Where a worker is in the round.
  struct Walk {
    std::int64_t leg = 0, phase = 0;  // it comes to that
    bool computing = false;           // its gradient has begun, and no step has followed
    bool waiting = false;             // for the reply, in hear
    bool replied = false;             // which has arrived
    std::int64_t arrival = 0;         // the number of its last message at any server, from 1
    std::int64_t staleness = 0;       // of its last gradient
    double learning_rate = 0;         // likewise
    template <class Archive>
    void persist(Archive& archive) {
      archive(leg, phase, computing, waiting, replied, arrival, staleness, learning_rate);
    }
  };
  Walk& walk(int w) { return walks_[static_cast<std::size_t>(w)]; }
  template <class Archive>
  void persist_all(Archive& archive);
  /// Until the worker computes or waits; once the run has ended, until its next leg.
  void go_on(int w);
  void begin_gradient(int w);
  void gradient_done(int w);
  void commit(int w);
  void say(int w);
  void serve(int w);
  void hear(int w);
  /// Hub h sends its message to the server above.
  void leave(int h);
  /// That message arrives there, or its reply arrives at hub h.
  void handle_visit(int h, Occurrence::Kind kind);
  /// A server's link to those that talk to it: when it has sent all, in seconds, each way.
  struct Way {
    double in_free = 0, out_free = 0;
    template <class Archive>
    void persist(Archive& archive) {
      archive(in_free, out_free);
    }
  };
  Way& way(int h) { return ways_[static_cast<std::size_t>(h)]; }
  Way& way_above() { return ways_.back(); }
  /// When a message arrives that leaves now; `link_free`: of the server's way.
  double arrives(const LinkCost& link, double& link_free, std::size_t bytes);
  Servers& servers() { return state_.player.ensemble().servers(); }

  EventState& state_;
  std::vector<Walk> walks_;
  ServerMessages messages_;
  std::int64_t arrivals_ = 0;  // at all servers of workers
  const LinkCost link_above_;  // between hubs and the server above
  std::vector<Way> ways_;      // by server; the one above hubs is the last
};

}  // namespace acid

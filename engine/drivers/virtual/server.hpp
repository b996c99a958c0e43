#pragma once

#include <vector>

#include "engine/drivers/shared/player.hpp"
#include "engine/drivers/virtual/timetable.hpp"
#include "engine/drivers/virtual/virtual_time.hpp"
#include "engine/drivers/virtual/virtual_workers.hpp"
#include "engine/run/outcome.hpp"
#include "engine/run/run.hpp"
#include "engine/run/sampler.hpp"

namespace acid {

/// One run with a server in virtual time, step by step: every worker walks through the round at its
/// own pace, and what it says arrives at its server, which hears and answers at once, and then, if
/// it is a hub, may send a message to the one above. The next thing that happens is the end of a
/// gradient or of a pause, an arrival, a sample, or the end of the budget. The public thread owns
/// everything but what the Player's tasks work on.
class VirtualServer {
 public:
  VirtualServer(const Run& run, const VirtualOptions& options);
  Outcome execute();

  static constexpr std::string_view kLayout = "virtual-server/3";

  /// The state between two steps, the vectors apart. No light task may be unfinished.
  template <class Archive>
  void persist(Archive& archive);

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
  void resume(const CheckpointFile& file);
  void save_cut();
  /// False when the run is over.
  bool step();
  void handle(const Occurrence& occurrence);
  /// Until the worker computes or waits; once the run has ended, until its next leg.
  void go_on(int w);
  void begin_gradient(int w);
  void gradient_done(int w);
  void commit(int w);
  void say(int w);
  void serve(int w);
  void hear(int w);
  /// Hub h leaves for the one above, …
  void leave(int h);
  /// … is there, or is back.
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
  Servers& servers() { return player_.ensemble().servers(); }
  bool budget_spent();
  void take_sample(double time);
  void drain();
  Outcome finish();

  const Run& run_;
  const RunSpec& spec_;
  const VirtualOptions options_;  // gradients take their time
  Timetable timetable_;
  VirtualWorkers workers_;
  std::vector<Walk> walks_;
  ServerMessages messages_;
  std::int64_t arrivals_ = 0;  // at all servers of workers
  const LinkCost link_above_;  // between hubs and the server above
  std::vector<Way> ways_;      // by server; the one above hubs is the last
  Totals totals_;
  GradientRecords notes_;  // since the last sample
  bool ended_ = false;
  Player player_;  // after what its tasks use: the members above
  Sampler sampler_;
};

}  // namespace acid

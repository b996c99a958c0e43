// A server, and hubs below it (docs/SEMANTICS.md: A server).
#include <algorithm>

#include "engine/drivers/shared/rounds.hpp"
#include "engine/run/servers.hpp"
#include "tests/drivers/semantics.hpp"

namespace acid::test {
namespace {

class ServerLoop : PacedLoop {
 public:
  ServerLoop(const Run& run, const VirtualOptions& options)
      : PacedLoop(run, options),
        method_(run.spec.method),
        messages_(method_, *run.spec.backend, ensemble_.dimension(), run.spec.workers),
        of_(static_cast<std::size_t>(run.spec.workers)),
        links_(static_cast<std::size_t>(servers().size() + 1)) {
    for (Own& own : of_) own.learning_rate = run.spec.first_rate();
  }

  LoopResult execute() {
    for (int w = 0; w < run_.spec.workers; ++w) walk_on(w);
    while (!over_) go_on();
    return end();
  }

 private:
  struct Own {
    RoundPlace place;
    bool replied = false, waiting = false, idle = true;
    double learning_rate = 0;  // of its last gradient; before it of its first
  };
  struct Link {  // when each direction of a server's link is free
    double in_free = 0, out_free = 0;
  };
  Servers& servers() { return ensemble_.servers(); }
  Own& of(int w) { return of_[static_cast<std::size_t>(w)]; }

  // Through the round, until the worker computes or waits for a reply.
  void walk_on(int w) {
    go_to_next_gradient(
        method_.round_of(w), of(w).place, [&] { return over_; },
        [&](Phase phase) {
          switch (phase) {
            case Phase::gradient:
              begin(w);
              return true;
            case Phase::step:
              ensemble_.worker(w).commit_gradient(time_, ensemble_.gradient(w),
                                                  of(w).learning_rate);
              return true;
            case Phase::say:
              say(w);
              return true;
            case Phase::hear:
              break;
          }
          of(w).waiting = !of(w).replied;
          if (of(w).waiting) return wait(w);
          ++result_.exchanges;
          hear_reply(ensemble_.worker(w), time_, messages_.said(w), messages_.reply(w));
          return true;
        });
  }

  // A worker that waits does not advance normalised time.
  bool wait(int w) {
    if (!over_ && !of(w).idle) {
      clock_.ends(seconds_, duration(w));
      of(w).idle = true;
    }
    return false;
  }

  void begin(int w) {
    ensemble_.worker(w).begin_gradient(time_);
    const double before = duration(w);
    plan_gradient(w, [this, w] { gradient_done(w); });
    if (of(w).idle)
      clock_.begins(seconds_, duration(w));
    else
      clock_.follows(seconds_, before, duration(w));
    of(w).idle = false;
  }

  // A gradient counts when it is computed, so that the server knows its learning rate.
  void gradient_done(int w) {
    of(w).learning_rate = compute(w);
    ++of(w).place.phase;
    walk_on(w);
  }

  // A message's bytes leave on a server's link after those of the messages before it.
  double arrival(const LinkCost& link, double& free, std::size_t bytes) {
    free = std::max(free, seconds_) + link.transfer_seconds(static_cast<double>(bytes));
    return free + link.latency_seconds;
  }

  void say(int w) {
    ensemble_.worker(w).offer(time_, messages_.said(w));
    of(w).replied = false;
    result_.bytes += run_.spec.bytes_per_exchange(ensemble_.dimension());
    Link& link = links_[static_cast<std::size_t>(servers().of(w))];
    const std::size_t bytes = method_.packed_message(ensemble_.dimension()).bytes();
    plan(arrival(options_.network.link, link.in_free, bytes), w, true, [this, w] { arrive(w); });
  }

  // The server hears and answers at once; a hub may then leave for the server above.
  void arrive(int w) {
    const int h = servers().of(w);
    const StepSize step = servers().arrive(w, of(w).learning_rate);
    serve(servers().server(h), time_, messages_.said(w), messages_.reply(w), step);
    Link& link = links_[static_cast<std::size_t>(h)];
    plan(arrival(options_.network.link, link.out_free, messages_.reply(w).size_bytes()), w, true,
         [this, w] {
           of(w).replied = true;
           if (of(w).waiting) walk_on(w);
         });
    if (servers().leave(h)) leave(h);
  }

  void leave(int h) {
    const LinkCost& link = options_.network.hubs.value_or(options_.network.link);
    const int hub = servers().caller(h);  // as a caller of the server above
    const std::span<float> said = messages_.said(hub), reply = messages_.reply(hub);
    servers().say(h, time_, said);
    result_.bytes +=
        static_cast<std::int64_t>(method_.bytes_per_visit(ensemble_.dimension()).both());
    plan(arrival(link, links_.back().in_free, said.size_bytes()), h - servers().size(), true,
         [this, h, hub, link, said, reply] {
           serve(servers().model(), time_, said, reply, servers().arrive(hub));
           plan(arrival(link, links_.back().out_free, reply.size_bytes()), h - servers().size(),
                true, [this, h, said, reply] {
                  servers().hear(h, time_, said, reply);
                  servers().come_back(h);
                });
         });
  }

  const Method& method_;
  ServerMessages messages_;
  std::vector<Own> of_;
  std::vector<Link> links_;  // by server; the last is that of the server above
};

}  // namespace

LoopResult server_loop(const Run& run, const VirtualOptions& options) {
  return ServerLoop(run, options).execute();
}

}  // namespace acid::test

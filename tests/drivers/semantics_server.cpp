// A server, and hubs below it (docs/SEMANTICS.md: A server).
#include <algorithm>

#include "engine/base/digest.hpp"
#include "engine/drivers/shared/normalised_clock.hpp"
#include "engine/drivers/shared/server_messages.hpp"
#include "tests/drivers/semantics.hpp"

namespace acid::test {
namespace {

class ServerLoop {
 public:
  ServerLoop(const Run& run, const VirtualOptions& options)
      : run_(run),
        options_(options),
        method_(run.spec.method),
        ensemble_(run.spec, run.objective),
        messages_(run.spec, ensemble_.dimension(), run.spec.workers),
        clock_(run.spec.workers, options.compute.gradient_seconds),
        of_(static_cast<std::size_t>(run.spec.workers)),
        links_(static_cast<std::size_t>(servers().size() + 1)) {}

  LoopResult execute() {
    for (int w = 0; w < run_.spec.workers; ++w) go_on(w);
    while (!over_) {
      advance(clock_.time_at(agenda_.next_seconds()), agenda_.next_seconds());
      agenda_.take().action();
    }
    clock_.stop(seconds_, time_);
    while (!agenda_.empty())
      if (const Agenda::Entry entry = agenda_.take(); entry.after_end) entry.action();
    const double end = std::max(time_, ensemble_.latest_event());
    for (int w = 0; w < run_.spec.workers; ++w) {
      ensemble_.worker(w).finish(end);
      result_.digests.push_back(sha256_hex(std::span<const float>(ensemble_.worker(w).x())));
    }
    result_.bytes += ensemble_.extra_bytes();
    return result_;
  }

 private:
  struct Own {
    RoundPlace place;
    bool replied = false, waiting = false, idle = true;
    std::int64_t begun = 0;
    double duration = 0, learning_rate = 0;
  };
  struct Link {  // when a server's link has sent all, each way
    double in_free = 0, out_free = 0;
  };
  Servers& servers() { return ensemble_.servers(); }
  Own& of(int w) { return of_[static_cast<std::size_t>(w)]; }

  void advance(double time, double seconds) {
    time_ = std::max(time_, time);
    seconds_ = std::max(seconds_, seconds);
  }

  // Through the round, until the worker computes or waits for a reply.
  void go_on(int w) {
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
      clock_.ends(seconds_, of(w).duration);
      of(w).idle = true;
    }
    return false;
  }

  void begin(int w) {
    ensemble_.worker(w).begin_gradient(time_);
    const double before = of(w).duration;
    of(w).duration = options_.compute.draw_seconds(w, of(w).begun++, run_.spec.seeds);
    agenda_.plan(seconds_ + of(w).duration, w, false, [this, w] { gradient_done(w); });
    if (of(w).idle)
      clock_.begins(seconds_, of(w).duration);
    else
      clock_.follows(seconds_, before, of(w).duration);
    of(w).idle = false;
  }

  // A gradient counts when it is computed, so that the server knows its learning rate.
  void gradient_done(int w) {
    Worker& worker = ensemble_.worker(w);
    run_.objective.gradient(0, w, worker.gradients(), worker.snapshot(), worker.gradient_buffers(),
                            ensemble_.gradient(w));
    const Position here{.gradients = ++result_.gradients,
                        .normalised_time = time_,
                        .seconds = seconds_,
                        .bytes = result_.bytes};
    of(w).learning_rate = run_.spec.learning_rate(here);
    over_ = result_.gradients == run_.spec.budget.gradients;
    ++of(w).place.phase;
    go_on(w);
  }

  // The bytes of a message leave on a server's link when those of the messages before it have.
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
    agenda_.plan(arrival(options_.network.link, link.in_free, bytes), w, true,
                 [this, w] { arrive(w); });
  }

  // The server hears and answers at once, and then, if it is a hub, may leave for the one above.
  void arrive(int w) {
    const int h = servers().of(w);
    const StepSize step = servers().arrive(w, of(w).learning_rate);
    serve(servers().server(h), time_, messages_.said(w), messages_.reply(w), step);
    Link& link = links_[static_cast<std::size_t>(h)];
    agenda_.plan(arrival(options_.network.link, link.out_free, messages_.reply_bytes()), w, true,
                 [this, w] {
                   of(w).replied = true;
                   if (of(w).waiting) go_on(w);
                 });
    if (servers().leave(h)) leave(h);
  }

  void leave(int h) {
    const LinkCost& link = options_.network.hubs.value_or(options_.network.link);
    servers().say_above(h, time_, messages_.said_above(h));
    result_.bytes += static_cast<std::int64_t>(method_.bytes_per_visit(ensemble_.dimension()));
    agenda_.plan(arrival(link, links_.back().in_free, messages_.said_above_bytes()),
                 h - servers().size(), true, [this, h, link] {
                   serve(servers().model(), time_, messages_.said_above(h),
                         messages_.reply_above(h), servers().arrive_above(h));
                   agenda_.plan(
                       arrival(link, links_.back().out_free, messages_.reply_above_bytes()),
                       h - servers().size(), true, [this, h] {
                         servers().hear_above(h, time_, messages_.said_above(h),
                                              messages_.reply_above(h));
                         servers().come_back(h);
                       });
                 });
  }

  const Run& run_;
  const VirtualOptions& options_;
  const Method& method_;
  Ensemble ensemble_;
  ServerMessages messages_;
  NormalisedClock clock_;
  Agenda agenda_;
  std::vector<Own> of_;
  std::vector<Link> links_;  // by server; the last is that of the one above
  double time_ = 0, seconds_ = 0;
  bool over_ = false;
  LoopResult result_;
};

}  // namespace

LoopResult server_loop(const Run& run, const VirtualOptions& options) {
  return ServerLoop(run, options).execute();
}

}  // namespace acid::test

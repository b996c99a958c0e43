// Meetings (docs/SEMANTICS.md: Events, Normalised time, Pairing, Throttle, The end).
#include <algorithm>
#include <deque>

#include "engine/base/digest.hpp"
#include "engine/drivers/shared/normalised_clock.hpp"
#include "engine/run/ensemble.hpp"
#include "engine/topology/edge_schedule.hpp"
#include "tests/drivers/semantics.hpp"

namespace acid::test {
namespace {

class MeetingsLoop {
 public:
  MeetingsLoop(const Run& run, const VirtualOptions& options)
      : run_(run),
        options_(options),
        ensemble_(run.spec, run.objective),
        list_(*run.spec.topology, run.spec.method.rate, run.spec.seeds),
        clock_(run.spec.workers, options.compute.gradient_seconds),
        of_(static_cast<std::size_t>(run.spec.workers)) {}

  LoopResult execute() {
    for (int w = 0; w < run_.spec.workers; ++w) begin(w);
    while (!over_) {
      const double next = clock_.time_at(agenda_.next_seconds());
      if (list_.peek().due <= next) {
        advance(list_.peek().due, clock_.seconds_at(list_.peek().due));
        waiting_.push_back(list_.pop());
        look_for_ready_edges();
        start_ready_edges();
      } else {
        advance(next, agenda_.next_seconds());
        agenda_.take().action();
      }
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
    double duration = 0;  // of the gradient in flight
    std::int64_t begun = 0;
    bool held = false, exchanging = false;
    std::vector<float> offer;
  };
  Own& of(int w) { return of_[static_cast<std::size_t>(w)]; }

  void advance(double time, double seconds) {
    time_ = std::max(time_, time);
    seconds_ = std::max(seconds_, seconds);
  }

  void begin(int w) {
    ensemble_.worker(w).begin_gradient(time_);
    schedule_gradient(w);
    clock_.begins(seconds_, of(w).duration);
  }

  void schedule_gradient(int w) {
    of(w).duration = options_.compute.draw_seconds(w, of(w).begun++, run_.spec.seeds);
    agenda_.plan(seconds_ + of(w).duration, w, false, [this, w] { gradient_done(w); });
  }

  void gradient_done(int w) {
    Worker& worker = ensemble_.worker(w);
    run_.objective.gradient(0, w, worker.gradients(), worker.snapshot(), worker.gradient_buffers(),
                            ensemble_.gradient(w));
    const Position here{.gradients = ++result_.gradients,
                        .normalised_time = time_,
                        .seconds = seconds_,
                        .bytes = result_.bytes};
    const bool held = backlog(w) > run_.spec.backlog_limit(w);
    worker.commit_gradient(time_, ensemble_.gradient(w), run_.spec.learning_rate(here), !held);
    over_ = result_.gradients == run_.spec.budget.gradients;
    if (over_) return;
    const double before = of(w).duration;
    of(w).held = held;
    if (held) return clock_.ends(seconds_, before);
    schedule_gradient(w);
    clock_.follows(seconds_, before, of(w).duration);
  }

  int backlog(int w) const {
    return static_cast<int>(
        std::count_if(waiting_.begin(), waiting_.end(),
                      [&](const DueEdge& edge) { return edge.i == w || edge.j == w; }));
  }

  // An edge is ready once neither partner has an exchange in flight, nor an earlier edge waiting.
  void look_for_ready_edges() {
    std::vector<bool> taken(of_.size());
    for (std::size_t w = 0; w < of_.size(); ++w) taken[w] = of_[w].exchanging;
    std::erase_if(waiting_, [&](const DueEdge& edge) {
      const auto i = static_cast<std::size_t>(edge.i), j = static_cast<std::size_t>(edge.j);
      const bool free = !taken[i] && !taken[j];
      taken[i] = taken[j] = true;
      if (!free) return false;
      of(edge.i).exchanging = of(edge.j).exchanging = true;
      ready_.push_back(edge);
      return true;
    });
  }

  void start_ready_edges() {
    while (!ready_.empty()) {
      const DueEdge edge = ready_.front();
      ready_.pop_front();
      start(edge);
    }
  }

  void start(const DueEdge& edge) {
    Worker &i = ensemble_.worker(edge.i), &j = ensemble_.worker(edge.j);
    const PackedMessage message = run_.spec.method.packed_message(ensemble_.dimension());
    const double duration =
        options_.network.between(edge.i, edge.j).seconds(static_cast<double>(message.bytes()));
    result_.bytes += run_.spec.bytes_per_exchange(ensemble_.dimension());
    if (duration == 0) {
      Worker::exchange(i, j, time_);
      return end(edge);
    }
    const std::size_t floats = run_.spec.method.message().floats(ensemble_.dimension());
    for (const int w : {edge.i, edge.j}) {
      of(w).offer.resize(floats);
      ensemble_.worker(w).offer(time_, of(w).offer);
    }
    agenda_.plan(seconds_ + duration, edge.i, true, [this, edge, &i, &j, offered = time_] {
      i.apply(time_, offered, of(edge.i).offer, of(edge.j).offer);
      j.apply(time_, offered, of(edge.j).offer, of(edge.i).offer);
      end(edge);
      start_ready_edges();
    });
  }

  void end(const DueEdge& edge) {
    ++result_.exchanges;
    of(edge.i).exchanging = of(edge.j).exchanging = false;
    look_for_ready_edges();
    for (const int w : {edge.i, edge.j}) {
      if (over_ || !of(w).held || backlog(w) > run_.spec.backlog_limit(w)) continue;
      of(w).held = false;
      begin(w);
    }
  }

  const Run& run_;
  const VirtualOptions& options_;
  Ensemble ensemble_;
  EdgeSchedule list_;
  NormalisedClock clock_;
  Agenda agenda_;
  std::deque<DueEdge> waiting_, ready_;  // due and not started, in the drawn order
  std::vector<Own> of_;
  double time_ = 0, seconds_ = 0;
  bool over_ = false;
  LoopResult result_;
};

}  // namespace

LoopResult meetings_loop(const Run& run, const VirtualOptions& options) {
  return MeetingsLoop(run, options).execute();
}

}  // namespace acid::test

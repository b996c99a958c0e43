// Meetings (docs/SEMANTICS.md: Events, Normalised time, Pairing, Throttle, The end).
#include <algorithm>
#include <deque>

#include "engine/topology/edge_schedule.hpp"
#include "tests/drivers/semantics.hpp"

namespace acid::test {
namespace {

class MeetingsLoop : PacedLoop {
 public:
  MeetingsLoop(const Run& run, const VirtualOptions& options)
      : PacedLoop(run, options),
        list_(*run.spec.topology, run.spec.method.rate, run.spec.seeds),
        of_(static_cast<std::size_t>(run.spec.workers)) {}

  LoopResult execute() {
    for (int w = 0; w < run_.spec.workers; ++w) begin(w);
    while (!over_) {
      if (list_.peek().due <= clock_.time_at(next_seconds())) {
        advance(list_.peek().due, clock_.seconds_at(list_.peek().due));
        waiting_.push_back(list_.pop());
        look_for_ready_edges();
        start_ready_edges();
      } else {
        go_on();
      }
    }
    return end();
  }

 private:
  struct Own {
    bool held = false, exchanging = false;
    std::vector<float> offer;
  };
  Own& of(int w) { return of_[static_cast<std::size_t>(w)]; }

  void begin(int w) {
    ensemble_.worker(w).begin_gradient(time_);
    schedule_gradient(w);
    clock_.begins(seconds_, duration(w));
  }

  void schedule_gradient(int w) {
    plan_gradient(w, [this, w] { gradient_done(w); });
  }

  void gradient_done(int w) {
    const double learning_rate = compute(w);
    const bool held = backlog(w) > run_.spec.backlog_limit(w);
    ensemble_.worker(w).commit_gradient(time_, ensemble_.gradient(w), learning_rate, !held);
    if (over_) return;
    const double before = duration(w);
    of(w).held = held;
    if (held) return clock_.ends(seconds_, before);
    schedule_gradient(w);
    clock_.follows(seconds_, before, duration(w));
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
    const double seconds =
        options_.network.between(edge.i, edge.j).seconds(static_cast<double>(message.bytes()));
    result_.bytes += run_.spec.bytes_per_exchange(ensemble_.dimension());
    if (seconds == 0) {
      Worker::exchange(i, j, time_);
      return exchanged(edge);
    }
    const std::size_t floats = run_.spec.method.message().floats(ensemble_.dimension());
    for (const int w : {edge.i, edge.j}) {
      of(w).offer.resize(floats);
      ensemble_.worker(w).offer(time_, of(w).offer);
    }
    plan(seconds_ + seconds, edge.i, true, [this, edge, &i, &j, offered = time_] {
      i.apply(time_, offered, of(edge.i).offer, of(edge.j).offer);
      j.apply(time_, offered, of(edge.j).offer, of(edge.i).offer);
      exchanged(edge);
      start_ready_edges();
    });
  }

  void exchanged(const DueEdge& edge) {
    ++result_.exchanges;
    of(edge.i).exchanging = of(edge.j).exchanging = false;
    look_for_ready_edges();
    for (const int w : {edge.i, edge.j}) {
      if (over_ || !of(w).held || backlog(w) > run_.spec.backlog_limit(w)) continue;
      of(w).held = false;
      begin(w);
    }
  }

  EdgeSchedule list_;
  std::deque<DueEdge> waiting_, ready_;  // due and not started, in the drawn order
  std::vector<Own> of_;
};

}  // namespace

LoopResult meetings_loop(const Run& run, const VirtualOptions& options) {
  return MeetingsLoop(run, options).execute();
}

}  // namespace acid::test

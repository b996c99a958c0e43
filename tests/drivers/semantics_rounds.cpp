// Rounds (docs/SEMANTICS.md: Rounds).
#include <algorithm>

#include "engine/drivers/shared/rounds.hpp"
#include "tests/drivers/semantics.hpp"

namespace acid::test {
namespace {

class RoundsLoop {
 public:
  explicit RoundsLoop(const Run& run)
      : run_(run),
        method_(run.spec.method),
        ensemble_(run.spec, run.objective),
        peers_(run.spec, ensemble_.dimension()),
        said_(static_cast<std::size_t>(run.spec.workers)),
        mean_(method_.message().floats(ensemble_.dimension())) {
    for (auto& message : said_) message.resize(mean_.size());
  }

  LoopResult execute() {
    for (std::int64_t leg = 0; result_.gradients < run_.spec.budget.gradients; ++leg) {
      const Position end = peers_.after_legs(leg + 1, 0);
      std::int64_t exchange = method_.round.heard_before(leg);
      for (const Phase phase : method_.round.leg(leg)) {
        if (phase == Phase::hear) gather(exchange);
        for (int w = 0; w < run_.spec.workers; ++w) act(w, phase, exchange, end);
        if (phase == Phase::hear) ++exchange;
      }
      result_.gradients = end.gradients;
      result_.exchanges = exchange;
      result_.bytes = end.bytes + ensemble_.extra_bytes();
    }
    return ended(ensemble_, ensemble_.latest_event(), result_);
  }

 private:
  void act(int w, Phase phase, std::int64_t exchange, const Position& end) {
    Worker& worker = ensemble_.worker(w);
    std::vector<float>& own = said_[static_cast<std::size_t>(w)];
    switch (phase) {
      case Phase::gradient:
        worker.begin_gradient(worker.last_event());
        run_.objective.gradient(0, w, worker.gradients(), worker.snapshot(),
                                worker.gradient_buffers(), ensemble_.gradient(w));
        return;
      case Phase::say:
        if (method_.reduces_gradients)
          std::copy_n(ensemble_.gradient(w).begin(), own.size(), own.begin());
        else
          worker.offer(worker.last_event(), own);
        return;
      case Phase::hear:
        if (!method_.reduces_gradients) hear(w, exchange);
        return;
      case Phase::step:
        worker.commit_gradient(
            end.normalised_time,
            method_.reduces_gradients ? std::span<const float>(mean_) : ensemble_.gradient(w),
            run_.spec.learning_rate(end));
    }
  }

  // A mean of all is summed in ascending order of workers.
  void gather(std::int64_t exchange) {
    if (!method_.hears_all_in(exchange)) return;
    std::vector<const float*> messages;
    for (const auto& message : said_) messages.push_back(message.data());
    mean_in_order<float>(messages, mean_.data(), 0, peers_.form().floats(exchange));
  }

  void hear(int w, std::int64_t exchange) {
    const auto message_of = [&](int i) -> const float* {
      return said_[static_cast<std::size_t>(i)].data();
    };
    Heard<float> heard;
    std::vector<const float*> all;
    std::vector<kernels::Weighted<float>> sources;
    if (method_.hears_all_in(exchange)) {
      for (int i = 0; i < run_.spec.workers; ++i) all.push_back(message_of(i));
      heard.mean = mean_.data();
      heard.own = message_of(w);
      heard.all = all;
    } else {
      sources = heard_by(*peers_.exchange(exchange), w, message_of);
      heard.sources = sources;
    }
    ensemble_.worker(w).hear(ensemble_.worker(w).last_event(), heard);
  }

  const Run& run_;
  const Method& method_;
  Ensemble ensemble_;
  const PeerSchedule peers_;
  std::vector<std::vector<float>> said_;  // by worker
  std::vector<float> mean_;               // of all messages, where all are heard
  LoopResult result_;
};

}  // namespace

LoopResult rounds_loop(const Run& run) { return RoundsLoop(run).execute(); }

}  // namespace acid::test

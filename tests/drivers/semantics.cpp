#include "tests/drivers/semantics.hpp"

#include <algorithm>

#include "engine/base/digest.hpp"

namespace acid::test {

LoopResult ended(Ensemble& workers, double end, LoopResult result) {
  for (int w = 0; w < workers.size(); ++w) {
    workers.worker(w).finish(end);
    result.digests.push_back(sha256_hex(std::span<const float>(workers.worker(w).x())));
  }
  return result;
}

PacedLoop::PacedLoop(const Run& run, const VirtualOptions& options)
    : run_(run),
      options_(options),
      ensemble_(run.spec, run.objective),
      clock_(run.spec.workers, options.compute.gradient_seconds),
      durations_(static_cast<std::size_t>(run.spec.workers)),
      begun_(durations_.size()) {}

void PacedLoop::advance(double time, double seconds) {
  time_ = std::max(time_, time);
  seconds_ = std::max(seconds_, seconds);
}

void PacedLoop::go_on() {
  advance(clock_.time_at(next_seconds()), next_seconds());
  take().action();
}

void PacedLoop::plan(double seconds, int worker, bool after_end, std::function<void()> action) {
  agenda_[{seconds, worker, planned_++}] = {after_end, std::move(action)};
}

void PacedLoop::plan_gradient(int w, std::function<void()> done) {
  std::int64_t& begun = begun_[static_cast<std::size_t>(w)];
  duration(w) = options_.compute.draw_seconds(w, begun++, run_.spec.seeds);
  plan(seconds_ + duration(w), w, false, std::move(done));
}

double PacedLoop::compute(int w) {
  Worker& worker = ensemble_.worker(w);
  run_.objective.gradient(0, w, worker.gradients(), worker.snapshot(), worker.gradient_buffers(),
                          ensemble_.gradient(w));
  ++result_.gradients;
  over_ = result_.gradients == run_.spec.budget.gradients;
  return run_.spec.learning_rate({.gradients = result_.gradients,
                                  .normalised_time = time_,
                                  .seconds = seconds_,
                                  .bytes = result_.bytes});
}

LoopResult PacedLoop::end() {
  clock_.stop(seconds_, time_);
  while (!agenda_.empty())
    if (const Planned next = take(); next.after_end) next.action();
  result_.bytes += ensemble_.extra_bytes();
  return ended(ensemble_, std::max(time_, ensemble_.latest_event()), result_);
}

}  // namespace acid::test

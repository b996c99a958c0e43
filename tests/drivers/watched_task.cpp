#include "tests/drivers/watched_task.hpp"

#include <utility>

#include "engine/base/clock.hpp"
#include "tests/catch.hpp"
#include "tests/drivers/mpi_fixture.hpp"

namespace acid::test {

WatchedTask::WatchedTask(const Replayable& run, int lanes, std::vector<Model>& evaluated,
                         std::function<int(int)> as)
    : inner_(quadratic(run.task, run.spec.workers, run.spec.seeds, lanes)),
      before_(run.before_gradient),
      as_(std::move(as)),
      evaluated_(evaluated) {}

void WatchedTask::start(int worker, std::span<float> x, std::span<float> buffers) const {
  inner_->start(as(worker), x, {});
  std::fill(buffers.begin(), buffers.end(), static_cast<float>(as(worker)));
}

double WatchedTask::gradient(int lane, int worker, std::int64_t step, std::span<const float> x,
                             std::span<float> buffers, std::span<float> g) {
  if (before_) before_(worker, step);
  for (std::size_t k = 0; k + 1 < kBuffers; ++k)
    buffers[k] = 0.75F * buffers[k] + 0.25F * (x[k] + static_cast<float>(as(worker) + 1));
  buffers[kBuffers - 1] += 1;
  return inner_->gradient(lane, as(worker), step, x, {}, g);
}

PartialEvaluation WatchedTask::evaluate(int lane, EvaluationSet set, int chunk,
                                        std::span<const float> x, std::span<const float> buffers) {
  if (set == EvaluationSet::test)
    evaluated_.push_back({{x.begin(), x.end()}, {buffers.begin(), buffers.end()}});
  double loss = inner_->evaluate(lane, set, chunk, x, {}).loss_sum;
  PartialEvaluation sum;
  for (std::size_t k = 0; k < kBuffers; ++k) {
    loss += static_cast<double>(buffers[k]) * buffers[k];
    if (buffers[k] > x[k]) ++sum.correct;
  }
  sum.count = kBuffers;
  sum.loss_sum = loss * kBuffers;
  return sum;
}

Outcome WatchedRun::execute(const Checkpointing& checkpointing, std::stop_token stop) {
  run.spec.topology = &run.graph;
  evaluated.clear();
  const auto task = [this](int lanes) {
    return std::make_unique<WatchedTask>(run, lanes, evaluated, as);
  };
  if (driver == "mpi") {
    Processes processes{run.spec, run.task};
    processes.objective = [&](int) { return task(2); };  // rank 0 alone evaluates
    Outcome outcome = processes.run(recorder, checkpointing, stop);
    check_no_errors(processes);
    return outcome;
  }
  const auto watched = task(run.spec.workers + 1);
  if (driver == "virtual")
    return run_virtual({run.spec, *watched, recorder, checkpointing, stop}, simulated);
  return run_threads({run.spec, *watched, recorder, checkpointing, stop}, run.options);
}

}  // namespace acid::test

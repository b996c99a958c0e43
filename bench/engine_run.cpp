#include "bench/engine_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <latch>
#include <thread>

#include "bench/options.hpp"
#include "engine/base/clock.hpp"
#include "engine/base/error.hpp"
#include "engine/base/every_processor.hpp"
#include "engine/environment/environment.hpp"
#include "engine/recorder/null_recorder.hpp"
#include "recipes/plan.hpp"

namespace acid::bench {
namespace {

constexpr std::int64_t kComposedGradients = 1000;  // of a plan; engine_round() sets its own number

// Without exchanges the theory of A²CiD² gives no values, so these are set.
std::string algorithm_text(const EngineRun& run) {
  std::string text =
      fmt::format("kind = \"{}\"\ncommunication_rate = {:.6f}\n", run.algorithm, run.rate);
  if (run.algorithm == "a2cid2" && run.rate == 0) text += "eta = 1.0\nalpha_tilde = 0.5\n";
  return text;
}

ACID_EVERY_PROCESSOR
void momentum_step(float* __restrict x, float* __restrict m, const float* __restrict g,
                   float learning_rate, std::size_t size) {
  for (std::size_t k = 0; k < size; ++k) {
    m[k] = 0.9f * m[k] + g[k];
    x[k] -= learning_rate * m[k];
  }
}

ACID_EVERY_PROCESSOR
void momentum_step_and_snapshot(float* __restrict x, float* __restrict m, const float* __restrict g,
                                float* __restrict snapshot, float learning_rate, std::size_t size) {
  for (std::size_t k = 0; k < size; ++k) {
    m[k] = 0.9f * m[k] + g[k];
    snapshot[k] = x[k] -= learning_rate * m[k];
  }
}

void bare_loop(Objective& objective, int worker, std::int64_t gradients, Snapshots snapshots,
               std::latch& start) {
  const std::size_t size = objective.dimension();
  const bool keeps = snapshots == Snapshots::kept;
  std::vector<float> x(size), m(size), g(size), buffers(objective.buffer_size());
  std::vector<float> snapshot(keeps ? size : 0);
  objective.start(worker, x, buffers);
  if (keeps) snapshot = x;
  start.arrive_and_wait();
  for (std::int64_t step = 0; step < gradients; ++step) {
    objective.gradient(worker, worker, step, keeps ? snapshot : x, buffers, g);
    if (keeps)
      momentum_step_and_snapshot(x.data(), m.data(), g.data(), snapshot.data(), 0.01f, size);
    else
      momentum_step(x.data(), m.data(), g.data(), 0.01f, size);
  }
}

}  // namespace

std::string peer_at_rate_0(const std::string& algorithm) {
  return algorithm == "a2cid2" ? "rate 0, which mixes too" : "rate 0";
}

int as_many_as_cores() { return std::max(2, usable_cores()); }

std::shared_ptr<std::vector<int>> add_workers_option(CLI::App& app) {
  const int cores = as_many_as_cores();
  return add_option(app, "--workers", std::vector<int>{cores, 4 * cores},
                    "How many the larger model has, by default 1 and 4 per core",
                    CLI::Range(2, 1024));
}

std::string recipe_of(const EngineRun& run, std::int64_t gradients, double consensus_every) {
  return fmt::format(
      R"(name = "bench"
seeds = [1]
[task]
dataset = {}
model = {}
batch_size = {}
[optimizer]
learning_rate = 0.01
momentum = 0.9
[workers]
count = {}
[topology]
kind = "ring"
[budget]
gradients = {}
[[algorithms]]
{}[evaluation]
every_time = 1e9
consensus_every_time = {:.6f}
[execution]
driver = "{}"
device = "{}"
)",
      run.dataset, run.model, run.batch_size, run.workers, gradients, algorithm_text(run),
      consensus_every, run.driver, run.device);
}

std::unique_ptr<ComposedRun> compose_run(const EngineRun& run) {
  const Plan plan = compile_recipe("acid-bench", recipe_of(run, kComposedGradients, 1e9));
  return compose(settings_from(plan.runs.front().settings), usable_cores());
}

TimedObjective::TimedObjective(Objective& objective, std::int64_t first, std::int64_t last)
    : objective_(objective), first_(first), last_(last) {
  ACID_ASSERT(0 < first && first < last, "from gradient {} to {}", first, last);
}

double TimedObjective::gradient_in_parts(int lane, int worker, std::int64_t step,
                                         std::span<const float> x, std::span<float> buffers,
                                         std::span<float> g, const GradientReady& ready) {
  const double loss = objective_.gradient_in_parts(lane, worker, step, x, buffers, g, ready);
  const std::int64_t number = done_.fetch_add(1) + 1;
  if (number == first_) begun_ = {watch_.seconds(), watch_.cpu_seconds()};
  if (number == last_) ended_ = {watch_.seconds(), watch_.cpu_seconds()};
  return loss;
}

Sample TimedObjective::sample() const {
  if (done_.load() < last_)
    throw Error(fmt::format("the run ended after {} gradients of {}", done_.load(), last_));
  const auto gradients = static_cast<double>(last_ - first_);
  return {gradients / (ended_.seconds - begun_.seconds),
          (ended_.cpu_seconds - begun_.cpu_seconds) / gradients};
}

Sample engine_round(ComposedRun& run, std::int64_t gradients) {
  RunSpec spec = run.spec;
  // Times from when every worker has computed a gradient until before the first one ends.
  spec.budget.gradients = gradients + 2 * spec.workers;
  TimedObjective timed(*run.objective, spec.workers, gradients + spec.workers);
  NullRecorder recorder;
  const Outcome outcome = driver(run.driver()).run({spec, timed, recorder}, run.options);
  if (outcome.ending != Ending::finished)
    throw Error("the run did not end well: " + outcome.message);
  return timed.sample();
}

Sample bare_round(Objective& objective, int threads, std::int64_t gradients, Snapshots snapshots) {
  const std::int64_t each = gradients / threads + 2;
  TimedObjective timed(objective, threads, (each - 1) * threads);
  std::latch start(threads);
  std::vector<std::jthread> loops;
  for (int worker = 0; worker < threads; ++worker)
    loops.emplace_back([&, worker] { bare_loop(timed, worker, each, snapshots, start); });
  loops.clear();  // joins
  return timed.sample();
}

std::int64_t gradients_in(double seconds, Objective& objective, int threads) {
  const double speed = bare_round(objective, threads, 8 * threads).value;
  return std::max<std::int64_t>(8 * threads, std::llround(seconds * speed));
}

}  // namespace acid::bench

#include "worker/calibrate.hpp"

#include <fmt/format.h>

#include <iostream>
#include <iterator>
#include <memory>

#include "engine/base/cyclic_barrier.hpp"
#include "engine/base/mutex.hpp"
#include "engine/base/thread_group.hpp"
#include "engine/environment/environment.hpp"
#include "recipes/parse.hpp"
#include "worker/calibration.hpp"

namespace acid {
namespace {

using nlohmann::json;
using Timers = std::vector<std::unique_ptr<GradientTimer>>;

/// Durations of all of the first `count` timers, while they compute at once.
std::vector<double> measure_at_once(Timers& timers, int count, double seconds) {
  CyclicBarrier barrier(count);
  Mutex mutex;
  std::vector<double> all;
  ThreadGroup threads([&] { barrier.abort(); });
  for (int k = 0; k < count; ++k)
    threads.start([&, k] {
      if (!barrier.wait()) return;
      const auto durations = timers[static_cast<std::size_t>(k)]->measure(seconds);
      MutexLock lock(mutex);
      all.insert(all.end(), durations.begin(), durations.end());
    });
  threads.join();
  return all;
}

// The run's objective for so many workers, each with a thread of its own.
std::unique_ptr<ComposedRun> compose_for(const CalibrationOrder& order, int threads) {
  RunSettings settings = order.settings_with(threads);
  settings.workers = order.workers_per_node;
  settings.topology = nullptr;
  settings.execution.driver = DriverKind::threads;
  settings.execution.mpi.reset();
  settings.execution.slow_factors.clear();
  return compose(std::move(settings), usable_cores());
}

Timers timers_for(const ComposedRun& run, int workers) {
  Timers timers;
  for (int k = 0; k < workers; ++k) timers.push_back(std::make_unique<GradientTimer>(run, k, k));
  return timers;
}

// The plain mean: quantiles tell how short gradients vary, but their largest counts too much in it.
json probed(const CalibrationOrder& order) {
  const auto run = compose_for(order, order.threads.back());
  Timers timers = timers_for(*run, order.workers_per_node);
  const auto durations = measure_at_once(timers, order.workers_per_node, order.seconds);
  return {{"mean_seconds", mean_duration(durations)}};
}

}  // namespace

Exit calibrate(const std::string& order_file) {
  const auto order = CalibrationOrder::from_text(recipe_text(order_file, "order"));
  if (order.only_gradients) {
    std::cout << probed(order).dump() << "\n" << std::flush;
    return Exit::ok;
  }
  const std::vector<int> counts = worker_counts(order.workers_per_node);
  TimeShares shares(order.seconds);
  shares.expect(kGradientsWeight, counts.size() * order.threads.size());
  shares.expect(kCostWeight, 2);
  json result, gradients;
  for (const int threads : order.threads) {
    const auto run = compose_for(order, threads);
    Timers timers = timers_for(*run, order.workers_per_node);
    for (const int count : counts) {
      const double share = shares.next(kGradientsWeight, gradients_words(count, threads, ""));
      gradients.push_back(gradients_entry(count, threads, measure_at_once(timers, count, share)));
    }
    if (threads != order.threads.back()) continue;
    result = describe_calibration(*run);
    const GradientTimer& timer = *timers.front();
    result["cost"]["exchange_seconds"] =
        exchange_cost(*run, timer, shares.next(kCostWeight, "an exchange"));
    result["cost"]["sample_seconds"] =
        sample_cost(*run, timer, shares.next(kCostWeight, "an evaluation"));
  }
  result["gradients"] = std::move(gradients);
  std::cout << result.dump() << "\n" << std::flush;
  return Exit::ok;
}

}  // namespace acid

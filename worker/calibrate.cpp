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
std::unique_ptr<ComposedRun> compose_for(const CalibrationOrder& order) {
  RunSettings settings = settings_from(order.settings);
  settings.workers = order.workers_per_node;
  settings.topology = nullptr;
  settings.execution.driver = DriverKind::threads;
  settings.execution.mpi.reset();
  settings.execution.slow_factors.clear();
  return compose(std::move(settings), usable_cores());
}

}  // namespace

Exit calibrate(const std::string& order_file) {
  const auto order = CalibrationOrder::from_text(recipe_text(order_file, "order"));
  const auto run = compose_for(order);
  Timers timers;
  for (int k = 0; k < order.workers_per_node; ++k)
    timers.push_back(std::make_unique<GradientTimer>(*run, k, k));
  json result = describe_calibration(*run);
  const std::vector<int> counts = worker_counts(order.workers_per_node);
  for (const int count : counts) {
    say_measuring(fmt::format("gradients of {} worker{} at once", count, count == 1 ? "" : "s"));
    result["gradients"].push_back(gradients_entry(
        count, run->settings.execution.threads_per_worker,
        measure_at_once(timers, count, order.seconds / static_cast<double>(counts.size()))));
  }
  result["cost"] = measure_costs(*run, *timers.front());
  std::cout << result.dump() << "\n" << std::flush;
  return Exit::ok;
}

}  // namespace acid

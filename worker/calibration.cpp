#include "worker/calibration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iostream>
#include <memory>
#include <numeric>
#include <thread>

#include "engine/base/clock.hpp"
#include "engine/base/error.hpp"
#include "engine/base/names.hpp"
#include "engine/base/quantiles.hpp"
#include "engine/environment/environment.hpp"
#include "engine/methods/method.hpp"
#include "engine/worker/worker.hpp"

namespace acid {
namespace {

using nlohmann::json;

constexpr std::size_t kQuantiles = 65;
constexpr std::size_t kFewestDurations = 2, kMostDurations = 50'000;
constexpr double kWarmUpShare = 0.2;

/// The median duration of `one`, called at least twice.
template <class One>
double median_seconds(const One& one, double seconds) {
  const SteadyClock clock;
  std::vector<double> durations;
  const double until = clock.seconds() + seconds;
  one();
  while (durations.size() < kFewestDurations ||
         (clock.seconds() < until && durations.size() < kMostDurations)) {
    const double begun = clock.seconds();
    one();
    durations.push_back(clock.seconds() - begun);
  }
  std::ranges::nth_element(durations,
                           durations.begin() + static_cast<std::ptrdiff_t>(durations.size() / 2));
  return durations[durations.size() / 2];
}

/// The rules of a method of pairs that keep nothing beside x.
Rules plain_meeting() {
  for (const AlgorithmEntry& entry : algorithm_catalog()) {
    if (!meets(entry.peers)) continue;
    WorkerSettings settings;
    settings.follow(entry.make(with_fallbacks(entry.fields, json::object()), nullptr).rules);
    if (settings.slots.empty()) return settings.rules;
  }
  ACID_ASSERT(false, "no method of pairs keeps x alone");
}

/// Pairs of workers that meet in turn, so that vectors of some size are not in the cache.
class MeetingPairs {
 public:
  MeetingPairs(const ComposedRun& run, std::span<const float> x) {
    constexpr std::size_t kManyBytes = std::size_t{256} << 20;  // of all workers together
    const std::size_t each = std::max<std::size_t>(1, 4 * sizeof(float) * x.size());
    const std::size_t count = std::clamp<std::size_t>(kManyBytes / each, 2, 8) / 2 * 2;
    settings_.dimension = x.size();
    settings_.backend = run.spec.backend;
    settings_.decay = {{0, x.size(), 0}};
    settings_.follow(plain_meeting());
    memory_ = std::make_unique<WorkerMemory<float>>(settings_, count);
    for (std::size_t k = 0; k < count; ++k) {
      workers_.emplace_back(settings_, *memory_, k);
      workers_.back().start(x);
    }
  }
  void exchange() {
    Worker::exchange(workers_[next_], workers_[next_ + 1], time_ += 1e-4);
    next_ = (next_ + 2) % workers_.size();
  }

 private:
  WorkerSettings settings_;
  std::unique_ptr<WorkerMemory<float>> memory_;
  std::vector<Worker> workers_;
  std::size_t next_ = 0;
  double time_ = 0;
};

}  // namespace

CalibrationOrder CalibrationOrder::from_text(const std::string& text) {
  const json order = json::parse(text);
  return {.settings = order.at("settings"),
          .workers_per_node = order.at("workers_per_node"),
          .threads = order.at("threads"),
          .seconds = order.at("seconds"),
          .only_gradients = order.value("only_gradients", false)};
}

RunSettings CalibrationOrder::settings_with(int count) const {
  RunSettings all = settings_from(settings);
  all.execution.threads_per_worker = count;
  return all;
}

std::vector<int> worker_counts(int most) {
  std::vector<int> counts;
  for (int count = 1; count < most; count *= 2) counts.push_back(count);
  counts.push_back(most);
  return counts;
}

GradientTimer::GradientTimer(const ComposedRun& run, int worker, int lane, double slow_factor)
    : run_(run),
      worker_(worker),
      lane_(lane),
      x_(run.objective->dimension(), *run.spec.backend),
      gradient_(run.objective->dimension(), *run.spec.backend),
      buffers_(run.objective->buffer_size()),
      pace_(slow_factor, steady_clock(), *run.objective) {
  run.objective->start(worker, x_.span(), buffers_);
}

double GradientTimer::compute() {
  const double begun = steady_clock().seconds();
  pace_.begin();
  run_.objective->gradient(lane_, worker_, step_++, x_.span(), buffers_, gradient_.span());
  if (const double held = pace_.end() - steady_clock().seconds(); held > 0)
    std::this_thread::sleep_for(std::chrono::duration<double>(held));
  return steady_clock().seconds() - begun;
}

std::vector<double> GradientTimer::measure(double seconds) {
  const double begun = steady_clock().seconds();
  do compute();
  while (steady_clock().seconds() < begun + kWarmUpShare * seconds);
  std::vector<double> durations;
  while (durations.size() < kFewestDurations || steady_clock().seconds() < begun + seconds) {
    const double duration = compute();
    if (durations.size() < kMostDurations) durations.push_back(duration);
  }
  return durations;
}

std::string gradients_words(int workers, int threads, const char* where) {
  return fmt::format("gradients of {} at once{}, with {} each",
                     counted(static_cast<std::uint64_t>(workers), "worker"), where,
                     counted(static_cast<std::uint64_t>(threads), "thread"));
}

json gradients_entry(int workers_per_node, int threads, const std::vector<double>& durations) {
  const std::vector<double> quantiles = quantiles_of(durations, kQuantiles);
  const double mean = mean_of_quantiles(quantiles);
  json shares = json::array();
  for (const double value : quantiles) shares.push_back(value / mean);
  return {{"workers_per_node", workers_per_node},
          {"threads", threads},
          {"mean_seconds", mean},
          {"quantiles", std::move(shares)}};
}

double mean_duration(std::span<const double> durations) {
  return std::reduce(durations.begin(), durations.end()) / static_cast<double>(durations.size());
}

double mean_longest(std::vector<double> durations, int count) {
  std::ranges::sort(durations);
  const auto n = static_cast<double>(durations.size());
  double mean = 0, below = 0;  // `below`: the chance that all are among the shortest
  for (std::size_t k = 0; k < durations.size(); ++k) {
    const double up_to = std::pow(static_cast<double>(k + 1) / n, count);
    mean += durations[k] * (up_to - below);
    below = up_to;
  }
  return mean;
}

double exchange_cost(const ComposedRun& run, const GradientTimer& timer, double seconds) {
  MeetingPairs pairs(run, timer.x());
  return median_seconds([&] { pairs.exchange(); }, seconds);
}

double sample_cost(const ComposedRun& run, const GradientTimer& timer, double seconds) {
  Objective& objective = *run.objective;
  const auto evaluate = [&] {
    for (const EvaluationSet set : {EvaluationSet::test, EvaluationSet::training})
      for (int chunk = 0; chunk < objective.evaluation_chunks(set); ++chunk)
        objective.evaluate(0, set, chunk, timer.x(), timer.buffers());
  };
  return median_seconds(evaluate, seconds);
}

json describe_calibration(const ComposedRun& run) {
  const TaskSettings& task = run.settings.task;
  const std::string data = text(task.dataset, "kind");
  json model{{"name", task.model.is_object() ? text(task.model, "kind") + " on " + data : data},
             {"parameters", run.objective->dimension()}};
  if (task.batch_size) model["batch_size"] = *task.batch_size;
  const json here = environment("");
  json surroundings{{"processor", here.at("cpu_model")},
                    {"cores", here.at("cores")},
                    {"memory_bytes", here.at("memory_bytes")},
                    {"system", here.at("system")},
                    {"acid", here.at("acid_version")}};
  if (run.model_runtime.is_object()) surroundings["model_runtime"] = run.model_runtime;
  return {{"model", std::move(model)}, {"environment", std::move(surroundings)}};
}

double TimeShares::next(double weight, const std::string& what) {
  const double passed = clock_.seconds() - begun_;
  std::cerr << fmt::format("acid: measuring {} ({:.0f} s of {:.4g} s have passed)\n", what, passed,
                           seconds_)
            << std::flush;
  const double share = std::max(0.0, seconds_ - passed) * weight / weights_;
  weights_ -= weight;
  return share;
}

}  // namespace acid

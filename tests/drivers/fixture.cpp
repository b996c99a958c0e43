#include "tests/drivers/fixture.hpp"

#include <algorithm>
#include <cmath>

#include "engine/base/error.hpp"
#include "tests/catch.hpp"

namespace acid::test {

void MemoryRecorder::sample(const Position& position, std::span<const Value> values) {
  MutexLock lock(mutex_);
  ACID_ASSERT(position.gradients >= last_.gradients && position.bytes >= last_.bytes &&
                  position.seconds >= last_.seconds &&
                  position.normalised_time >= last_.normalised_time,
              "a sample at {} gradients after one at {}", position.gradients, last_.gradients);
  last_ = position;
  if (samples_left_ > 0 && --samples_left_ == 0) stop_.request_stop();
  for (const Value& value : values)
    series_[{std::string(value.metric), value.worker}].push_back({position, value.value});
}

void MemoryRecorder::events(int worker, std::int64_t first, std::span<const Event> events) {
  MutexLock lock(mutex_);
  std::vector<Event>& known = events_[worker];
  const bool fits = first == static_cast<std::int64_t>(known.size());
  ACID_ASSERT(fits || events_may_start_late_, "event {} after {} of worker {}", first, known.size(),
              worker);
  known.insert(known.end(), events.begin(), events.end());
}

const std::vector<MemoryRecorder::Point>& MemoryRecorder::series(const std::string& metric,
                                                                 int worker) const {
  return series_.at({metric, worker});
}

double MemoryRecorder::at(const std::string& metric, double time) const {
  for (const Point& point : series(metric))
    if (std::abs(point.position.normalised_time - time) < 1e-9) return point.value;
  throw std::out_of_range(metric + " was not sampled at " + std::to_string(time));
}

std::unique_ptr<Objective> quadratic(const nlohmann::json& given, int workers, const Seeds& seeds,
                                     int lanes) {
  const AnalyticEntry* entry = find_analytic("quadratic");
  return entry->make(with_fallbacks(entry->fields, given), workers, 1, nullptr, 0, seeds, lanes);
}

namespace {

class WithBefore final : public Forwarding {
 public:
  WithBefore(BeforeGradient before, std::unique_ptr<Objective> inner,
             BeforeEvaluation before_evaluation)
      : Forwarding(std::move(inner)),
        before_(std::move(before)),
        before_evaluation_(std::move(before_evaluation)) {}
  double gradient(int lane, int w, std::int64_t step, std::span<const float> x, std::span<float> b,
                  std::span<float> g) override {
    if (before_) before_(w, step);
    return Forwarding::gradient(lane, w, step, x, b, g);
  }
  PartialEvaluation evaluate(int lane, EvaluationSet set, int chunk, std::span<const float> x,
                             std::span<const float> b) override {
    if (before_evaluation_) before_evaluation_(set);
    return Forwarding::evaluate(lane, set, chunk, x, b);
  }

 private:
  const BeforeGradient before_;
  const BeforeEvaluation before_evaluation_;
};

}  // namespace

std::unique_ptr<Objective> with(BeforeGradient before, std::unique_ptr<Objective> objective,
                                BeforeEvaluation before_evaluation) {
  if (!before && !before_evaluation) return objective;
  return std::make_unique<WithBefore>(std::move(before), std::move(objective),
                                      std::move(before_evaluation));
}

Outcome Setup::run(std::stop_token stop) {
  Outcome outcome;
  with_run(on_threads ? workers + 1 : std::max(1, virtual_time.threads), stop, [&](const Run& run) {
    outcome = on_threads ? run_threads(run, threads) : run_virtual(run, virtual_time);
  });
  return outcome;
}

void Setup::with_run(int lanes, std::stop_token stop,
                     const std::function<void(const Run&)>& driver) {
  spec.workers = workers;
  spec.seeds = Seeds(seed);
  const TopologyEntry* kind = find_topology(topology.at("kind").get<std::string>());
  const Topology graph = make_topology(workers, with_fallbacks(kind->fields, topology));
  spec.topology = &graph;
  if (entry == nullptr) entry = find_algorithm(algorithm);
  nlohmann::json resolved = with_fallbacks(entry->fields, options);
  if (!codec.is_null()) resolved["codec"] = codec;
  const double rate = resolved.value("communication_rate", 0.0);
  std::optional<Spectral> nominal;
  if (workers > 1 && rate > 0) nominal = spectral(graph, rate);
  spec.method = method_of(*entry, resolved, nominal ? &*nominal : nullptr);
  spec.method.set_pace(on_threads ? threads.slow_factors : virtual_time.compute.slow_factors);
  const auto objective = with(before_gradient, quadratic(task, workers, spec.seeds, lanes));
  driver({spec, *objective, recorder, checkpointing, stop});
}

}  // namespace acid::test

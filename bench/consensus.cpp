// Measures the virtual driver without gradients: events alone.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "bench/commands.hpp"
#include "bench/options.hpp"
#include "engine/base/error.hpp"
#include "engine/base/every_processor.hpp"
#include "engine/data/analytic.hpp"
#include "engine/drivers/mpi/thread_seconds.hpp"
#include "engine/drivers/virtual/virtual_time.hpp"
#include "engine/methods/method.hpp"
#include "engine/recorder/null_recorder.hpp"
#include "engine/topology/catalog.hpp"
#include "engine/topology/edge_schedule.hpp"

namespace acid::bench {
namespace {

constexpr std::size_t kParameters = 64;
constexpr double kBytesOfExchange = 2 * 4 * kParameters;

double resident_bytes() {
  std::ifstream file("/proc/self/statm");
  double total = 0, resident = 0;
  file >> total >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE));
}

/// Notes the run's position at its first and last report of progress: after all was set up, and
/// before the result is taken. Called on the driver's thread, which does all the work.
class Progress final : public NullRecorder {
 public:
  void progress(const Position& position) override {
    const Moment now{thread_seconds(), static_cast<double>(position.bytes) / kBytesOfExchange};
    if (!begun_) first_ = now;
    begun_ = true;
    last_ = now;
    resident_ = resident_bytes();
  }
  double exchanges_per_cpu_second() const {
    if (last_.exchanges <= first_.exchanges)
      throw Error("the run made too little progress to be timed; give it more --exchanges");
    return (last_.exchanges - first_.exchanges) / (last_.cpu_seconds - first_.cpu_seconds);
  }
  double resident() const { return resident_; }

 private:
  struct Moment {
    double cpu_seconds = 0, exchanges = 0;
  };
  bool begun_ = false;
  Moment first_, last_;
  double resident_ = 0;
};

/// A ring of workers that only average, and the same edges in a bare loop.
class Consensus {
 public:
  Consensus(int workers, double exchanges)
      : ring_(make_topology(workers, {{"kind", "ring"}})),
        virtual_(options()),
        exchanges_(exchanges) {
    spec_.workers = workers;
    spec_.topology = &ring_;
    const AlgorithmEntry* method = find_algorithm("ad-psgd");
    spec_.method =
        method->make(with_fallbacks(method->fields, {{"communication_rate", 1.0}}), nullptr);
    spec_.seeds = Seeds(1);
    spec_.budget.gradients = 1;  // there are no gradients
    spec_.budget.normalised_time = 2 * exchanges / workers;
    spec_.cadence = {.consensus_every = kNever, .workers = WorkerEvaluation::never};
  }

  Sample engine() {
    const double before = resident_bytes();
    const AnalyticEntry* quadratic = find_analytic("quadratic");
    const nlohmann::json task =
        with_fallbacks(quadratic->fields,
                       {{"dimension", kParameters}, {"curvature", 0.0}, {"initial_spread", 1.0}});
    const auto objective = quadratic->make(task, spec_.workers, 1, nullptr, 0, spec_.seeds, 1);
    Progress progress;
    run_virtual({spec_, *objective, progress}, virtual_);
    megabytes_ = std::max(megabytes_, 1e-6 * (progress.resident() - before));
    return {1e-6 * progress.exchanges_per_cpu_second()};
  }
  /// The same edges in a bare loop; they are listed beforehand.
  Sample loop() const;
  /// As loop(), but drawing the edges from the run's seed is part of the work.
  Sample drawing_loop() const;
  /// The memory of a run at its end, without what the process had before.
  double megabytes() const { return megabytes_; }

 private:
  static VirtualOptions options() {
    VirtualOptions options;
    options.gradient_clock = GradientClock::none;
    return options;
  }

  std::vector<float> vectors() const;

  const Topology ring_;
  const VirtualOptions virtual_;
  const double exchanges_;
  RunSpec spec_;
  double megabytes_ = 0;  // the most over all rounds
};

ACID_EVERY_PROCESSOR
void average(float* __restrict x, float* __restrict y) {
  for (std::size_t k = 0; k < kParameters; ++k) {
    const float m = x[k] - y[k];
    x[k] -= 0.5f * m;
    y[k] += 0.5f * m;
  }
}

std::vector<float> Consensus::vectors() const {
  std::vector<float> x(kParameters * static_cast<std::size_t>(spec_.workers));
  for (std::size_t k = 0; k < x.size(); ++k) x[k] = static_cast<float>(k % 1000);
  return x;
}

Sample Consensus::loop() const {
  std::vector<float> x = vectors();
  EdgeSchedule schedule(ring_, spec_.method.rate, spec_.seeds);
  std::vector<std::pair<std::size_t, std::size_t>> edges(static_cast<std::size_t>(exchanges_));
  for (auto& edge : edges) {
    const DueEdge due = schedule.pop();
    edge = {kParameters * static_cast<std::size_t>(due.i),
            kParameters * static_cast<std::size_t>(due.j)};
  }
  const Stopwatch watch(Stopwatch::Cpu::thread);
  for (const auto& edge : edges) average(&x[edge.first], &x[edge.second]);
  return {1e-6 * static_cast<double>(edges.size()) / watch.cpu_seconds()};
}

Sample Consensus::drawing_loop() const {
  std::vector<float> x = vectors();
  EdgeSchedule schedule(ring_, spec_.method.rate, spec_.seeds);
  const auto count = static_cast<std::int64_t>(exchanges_);
  const Stopwatch watch(Stopwatch::Cpu::thread);
  for (std::int64_t k = 0; k < count; ++k) {
    const DueEdge due = schedule.pop();
    average(&x[kParameters * static_cast<std::size_t>(due.i)],
            &x[kParameters * static_cast<std::size_t>(due.j)]);
  }
  return {1e-6 * static_cast<double>(count) / watch.cpu_seconds()};
}

}  // namespace

Measure prepare_consensus(CLI::App& app) {
  const auto sizes = add_option(app, "--workers", std::vector<int>{1000, 100'000},
                                "Sizes of the ring", CLI::Range(2, 1 << 30));
  const auto exchanges = add_option(app, "--exchanges", 3e6,
                                    "Exchanges of every run, approximately", CLI::Range(1e3, 1e12));
  return [sizes, exchanges](Bench& bench) {
    bench.note(
        "the budget's absolute numbers, 20 M/s in a ring of 1000 and 4.6 M/s in one of 100000, are "
        "about those of the loop that draws its edges");
    for (const int workers : *sizes) {
      Consensus consensus(workers, *exchanges);
      const std::string what = fmt::format("ring of {}, 64 parameters, no gradients", workers);
      const auto samples = bench.interleave(
          what, {[&] { return consensus.engine(); }, [&] { return consensus.loop(); },
                 [&] { return consensus.drawing_loop(); }});
      Row row{what, "M exchanges/CPU s", "bare loop", ratio_at_least(0.5), samples[0], samples[1]};
      bench.add(row);
      row.peer = "bare loop that draws its edges";
      row.peers = samples[2];
      bench.add(row);
      bench.add({what, "MB", {}, {}, {Sample{consensus.megabytes()}}});
    }
  };
}

}  // namespace acid::bench

#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "bench/measurement.hpp"
#include "worker/compose.hpp"

namespace CLI {
class App;
}

namespace acid::bench {

/// A timed run of the engine: SGD with momentum 0.9 on a ring, evaluated only at the end; by
/// default of the budgets' larger model, 0.67 M parameters. Data and model are values of a recipe.
struct EngineRun {
  std::string dataset = R"({ kind = "gaussian-mixture", dimension = 784, classes = 10, )"
                        R"(train = 8192, test = 256 })";
  std::string model = R"({ kind = "mlp", hidden = [512, 512] })";
  int batch_size = 128;
  int workers = 2;
  std::string algorithm = "a2cid2";
  double rate = 1;  // exchanges per gradient
  std::string driver = "threads";
  std::string device = "cpu";
};

/// Describes the algorithm's run without exchanges, as a peer. A²CiD² without exchanges still
/// mixes: the ratio shows the cost of exchanges, without the cost of mixing.
std::string peer_at_rate_0(const std::string& algorithm);

/// The number of cores of this machine, at least two.
int as_many_as_cores();
/// --workers of the larger model, a list: by default as many as cores, and four times as many.
std::shared_ptr<std::vector<int>> add_workers_option(CLI::App& app);

/// The recipe, which ends after this many gradients of all workers and measures the consensus this
/// often (normalised time).
std::string recipe_of(const EngineRun& run, std::int64_t gradients, double consensus_every);

/// The engine's objects for the run; engine_round() sets the number of gradients. Throws Error
/// without LibTorch.
std::unique_ptr<ComposedRun> compose_run(const EngineRun& run);

/// Forwards to an objective and notes when its first and last gradients were finished: between
/// these, nothing is set up, evaluated or ended. Any threads.
class TimedObjective final : public Objective {
 public:
  /// Times from the end of gradient number `first` to the end of number `last`, counted over all
  /// threads from 1. The objective must outlive this object.
  TimedObjective(Objective& objective, std::int64_t first, std::int64_t last);
  /// Gradients per second; call it when every thread has ended. Throws Error if there were too few.
  Sample sample() const;

  std::size_t dimension() const override { return objective_.dimension(); }
  std::size_t buffer_size() const override { return objective_.buffer_size(); }
  std::vector<Segment> segments() const override { return objective_.segments(); }
  std::vector<Segment> buffer_segments() const override { return objective_.buffer_segments(); }
  void start(int worker, std::span<float> x, std::span<float> buffers) const override {
    objective_.start(worker, x, buffers);
  }
  double gradient(int lane, int worker, std::int64_t step, std::span<const float> x,
                  std::span<float> buffers, std::span<float> g) override {
    return gradient_in_parts(lane, worker, step, x, buffers, g, {});
  }
  double gradient_in_parts(int lane, int worker, std::int64_t step, std::span<const float> x,
                           std::span<float> buffers, std::span<float> g,
                           const GradientReady& ready) override;
  int evaluation_chunks(EvaluationSet set) const override {
    return objective_.evaluation_chunks(set);
  }
  PartialEvaluation evaluate(int lane, EvaluationSet set, int chunk, std::span<const float> x,
                             std::span<const float> buffers) override {
    return objective_.evaluate(lane, set, chunk, x, buffers);
  }
  bool has_accuracy() const override { return objective_.has_accuracy(); }

 private:
  Objective& objective_;
  const std::int64_t first_, last_;
  std::atomic<std::int64_t> done_{0};
  const Stopwatch watch_;
  struct Moment {
    double seconds = 0, cpu_seconds = 0;
  };
  // Each is written by the thread whose gradient has the number.
  Moment begun_, ended_;
};

/// Executes the run's first gradients once, about `gradients` summed over all workers.
Sample engine_round(ComposedRun& run, std::int64_t gradients);

/// Whether a bare loop computes gradients at a copy of the parameters, made in the same pass as the
/// step before. A program whose parameters change during a gradient needs such a copy.
enum class Snapshots { none, kept };

/// The same gradients in bare loops: `threads` threads, each with a copy of the parameters, and
/// between two gradients nothing but SGD with momentum in place. The objective must have at least
/// that many lanes and workers.
Sample bare_round(Objective& objective, int threads, std::int64_t gradients,
                  Snapshots snapshots = Snapshots::none);

/// How many gradients `threads` bare loops compute in this many seconds; at least 8 per thread.
std::int64_t gradients_in(double seconds, Objective& objective, int threads);

}  // namespace acid::bench

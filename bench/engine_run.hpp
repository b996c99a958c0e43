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

/// A run of the engine that is timed: two models on data of a mixture of Gaussians, SGD with
/// momentum 0.9 on a ring, never evaluated but at the end.
struct EngineRun {
  std::string hidden = "[512, 512]";  // of an MLP with 784 inputs and 10 classes
  int batch_size = 128;
  int workers = 2;
  std::string algorithm = "a2cid2";
  double rate = 1;  // exchanges per gradient
  std::string driver = "threads";
};
/// 0.67 M parameters, batches of 128: the budgets' larger model.
EngineRun larger_model(int workers, const std::string& algorithm, double rate);
/// 0.1 M parameters, batches of 16, so that a gradient takes a fraction of a millisecond.
EngineRun small_model(int workers, const std::string& algorithm, double rate);

/// The same run without exchanges as a peer, in words. That of A²CiD² still mixes: the ratio to it
/// is what exchanges cost, and not what mixing costs.
std::string peer_at_rate_0(const EngineRun& run);

/// The machine's cores, two at least.
int as_many_as_cores();
/// --workers of the larger model, a list: by default as many as cores, and four times as many.
std::shared_ptr<std::vector<int>> add_workers_option(CLI::App& app);

/// The recipe, which ends after so many gradients of all workers and looks at the consensus this
/// often (normalised time).
std::string recipe_of(const EngineRun& run, std::int64_t gradients, double consensus_every);

/// The engine's objects for it; the number of gradients is up to engine_round(). Throws Error
/// without LibTorch.
std::unique_ptr<ComposedRun> compose_run(const EngineRun& run);

/// Forwards to an objective and notes when its first and last gradients were finished: between two
/// of them nothing is set up, evaluated or ended. Any threads.
class TimedObjective final : public Objective {
 public:
  /// Times from the end of gradient number `first` to the end of number `last`, counted over all
  /// threads from 1. The objective outlives this.
  TimedObjective(Objective& objective, std::int64_t first, std::int64_t last);
  /// Gradients per second; once every thread has ended. Throws Error if there were too few.
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
  // Each is written by the one thread whose gradient has the number.
  Moment begun_, ended_;
};

/// Executes the run's first gradients once, about `gradients` of all workers.
Sample engine_round(ComposedRun& run, std::int64_t gradients);

/// Whether a bare loop computes gradients at a copy of the parameters, made in the same pass as the
/// step before it: what anybody needs whose parameters change while a gradient is computed.
enum class Snapshots { none, kept };

/// The same gradients in bare loops: `threads` threads, each a copy of the parameters, and between
/// two gradients nothing but SGD with momentum in place. The objective has that many lanes and
/// workers at least.
Sample bare_round(Objective& objective, int threads, std::int64_t gradients,
                  Snapshots snapshots = Snapshots::none);

/// How many gradients `threads` bare loops compute in so many seconds; at least 8 per thread.
std::int64_t gradients_in(double seconds, Objective& objective, int threads);

}  // namespace acid::bench

#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/worker/objective.hpp"
#include "tests/drivers/replay_fixture.hpp"

namespace acid::test {

/// The quadratic of a run with buffers and an accuracy, which a test can compute again, and with a
/// record of the models evaluated on the test set, in order.
///
/// A worker's three buffers begin at its number. Two follow its own model, b ← ¾b + ¼(x + its
/// number + 1), the last one counts its gradients. Evaluation adds Σb² to the quadratic's loss; the
/// accuracy is the share of buffers that are above x there.
class WatchedTask final : public Objective {
 public:
  static constexpr std::size_t kBuffers = 3;
  struct Model {
    std::vector<float> x, buffers;
  };
  /// The one thread that evaluates adds models to `evaluated`, which outlives this. `as`: for each
  /// worker, the worker whose start point, data and buffers it has; absent: its own.
  WatchedTask(const Replayable& run, int lanes, std::vector<Model>& evaluated,
              std::function<int(int)> as = {});

  std::size_t dimension() const override { return inner_->dimension(); }
  std::size_t buffer_size() const override { return kBuffers; }
  std::vector<Segment> segments() const override { return inner_->segments(); }
  std::vector<Segment> buffer_segments() const override {
    return {{"statistics", {kBuffers}, 0, kBuffers}};
  }
  void start(int worker, std::span<float> x, std::span<float> buffers) const override;
  double gradient(int lane, int worker, std::int64_t step, std::span<const float> x,
                  std::span<float> buffers, std::span<float> g) override;
  int evaluation_chunks(EvaluationSet) const override { return 1; }
  PartialEvaluation evaluate(int lane, EvaluationSet set, int chunk, std::span<const float> x,
                             std::span<const float> buffers) override;
  bool has_accuracy() const override { return true; }

 private:
  int as(int worker) const { return as_ ? as_(worker) : worker; }
  const std::unique_ptr<Objective> inner_;
  const BeforeGradient before_;
  const std::function<int(int)> as_;
  std::vector<Model>& evaluated_;
};

/// Executes `run` with such a task.
struct WatchedRun {
  std::string driver;  // "virtual", "threads" or "mpi"
  Replayable& run;
  VirtualOptions simulated = {};
  std::function<int(int)> as = {};  // of the task

  MemoryRecorder recorder = {};
  std::vector<WatchedTask::Model> evaluated = {};
  Outcome execute(const Checkpointing& checkpointing = {}, std::stop_token stop = {});
};

}  // namespace acid::test

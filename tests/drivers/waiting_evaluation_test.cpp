// Workers do not wait for evaluations, nor for samples.
#include <atomic>

#include "tests/catch.hpp"
#include "tests/drivers/mpi_fixture.hpp"
#include "tests/waiting.hpp"

using namespace acid;
using test::MemoryRecorder;
using test::Processes;
using test::Replayable;

namespace {

/// The quadratic of a run. On rank 0 its first evaluation after the start lasts until the workers
/// have computed `wanted` gradients, at most a minute.
class Patient final : public Objective {
 public:
  Patient(const Replayable& run, std::atomic<std::int64_t>& gradients, std::int64_t wanted,
          std::atomic<bool>& gave_up)
      : inner_(test::quadratic(run.task, run.spec.workers, run.spec.seeds, 2)),
        gradients_(gradients),
        wanted_(wanted),
        gave_up_(gave_up) {}
  std::size_t dimension() const override { return inner_->dimension(); }
  std::vector<Segment> segments() const override { return inner_->segments(); }
  void start(int worker, std::span<float> x, std::span<float> buffers) const override {
    inner_->start(worker, x, buffers);
  }
  double gradient(int lane, int worker, std::int64_t step, std::span<const float> x,
                  std::span<float> buffers, std::span<float> g) override {
    ++gradients_;
    return inner_->gradient(lane, worker, step, x, buffers, g);
  }
  int evaluation_chunks(EvaluationSet set) const override { return inner_->evaluation_chunks(set); }
  PartialEvaluation evaluate(int lane, EvaluationSet set, int chunk, std::span<const float> x,
                             std::span<const float> buffers) override {
    if (set == EvaluationSet::test && evaluations_++ == 1)
      gave_up_ = !test::comes_true([&] { return gradients_.load() >= wanted_; });
    return inner_->evaluate(lane, set, chunk, x, buffers);
  }
  bool has_accuracy() const override { return inner_->has_accuracy(); }

 private:
  const std::unique_ptr<Objective> inner_;
  std::atomic<std::int64_t>& gradients_;
  const std::int64_t wanted_;
  std::atomic<bool>& gave_up_;
  int evaluations_ = 0;
};

}  // namespace

TEST_CASE("mpi: workers finish while an evaluation lasts, and no sample is lost") {
  for (const char* algorithm : {"a2cid2", "d-psgd"})
    for (const bool windows : {true, false}) {
      INFO(algorithm << (windows ? ", windows" : ", messages"));
      Replayable run({.algorithm = algorithm, .workers = 2, .rate = 1, .gradients = 80});
      run.spec.cadence = {.consensus_every = 1, .evaluate_every = 10};
      std::atomic<std::int64_t> gradients{0};
      std::atomic<bool> gave_up{false};
      Processes processes{run.spec, run.task};
      processes.windows = windows;
      // The second of five evaluations waits for what comes after the third.
      processes.objective = [&](int) {
        return std::make_unique<Patient>(run, gradients, 60, gave_up);
      };
      MemoryRecorder recorder;
      const Outcome outcome = processes.run(recorder);
      check_no_errors(processes);
      CHECK_FALSE(gave_up);
      CHECK(outcome.position.gradients == 80);
      CHECK(recorder.series("consensus_distance").size() == 41);
      CHECK(recorder.series("eval_loss").size() == 5);
    }
}

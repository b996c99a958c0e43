#pragma once

#include <vector>

#include "engine/drivers/mpi/mpi.hpp"
#include "engine/drivers/mpi/process.hpp"
#include "engine/drivers/mpi/round_coordinator.hpp"
#include "engine/drivers/mpi/round_worker.hpp"
#include "engine/drivers/shared/rounds.hpp"

namespace acid {

/// Rank 0 in a synchronous run. Rounds go on while it evaluates.
class RoundEvaluator final : public Evaluator {
 public:
  /// Reads the checkpoint, if the run resumes one.
  RoundEvaluator(const Run& run, Post& post, Collector& collector);

  void begin() override;
  RoundCoordinator& coordinator() override { return coordinator_; }

 private:
  Position position(const Gathered& gathered) const override;
  void sampled() override { coordinator_.sampled(shell_.enough(), shell_.sampler.sample_times()); }
  void save(const Gathered& gathered, const Position& here) override;
  void saved() override { coordinator_.saved(); }
  RoundsState state() { return {shell_, round_, seconds_, idle_seconds_, notes_}; }
  bool resume();

  std::int64_t round_ = 0;
  double seconds_ = 0;
  std::vector<double> idle_seconds_;
  std::vector<GradientRecords> notes_;
  const bool resumed_;
  RoundCoordinator coordinator_;
};

/// One process of a synchronous run: the training thread takes its worker through the legs.
class RoundProcess final : public Process {
 public:
  RoundProcess(const Run& run, const MpiOptions& options, Post& post, RoundEvaluator* evaluator,
               Collector* collector)
      : Process(run, post, evaluator, collector),
        directives_(run.clock),
        worker_(run, options, post, directives_),
        start_(post, worker_.state(), [this](Start& start) {
          worker_.start(start);
          directives_.begin();
        }) {}

 private:
  Window& window() override { return worker_.window(); }
  void train() override { worker_.train(); }
  void deliver_own(const Mail& mail) override;
  double act() override {
    worker_.messages().send_handed_over();
    return kIdleSeconds;
  }
  bool may_leave() const override { return post_.idle(); }
  void release() override {
    directives_.close();
    worker_.messages().close();
  }

  RoundDirectives directives_;
  RoundWorker worker_;  // the training thread's
  StartReceiver start_;
};

}  // namespace acid

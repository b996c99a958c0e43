#pragma once

#include <vector>

#include "engine/drivers/mpi/round_coordinator.hpp"
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
  std::int64_t exchanges(const Gathered&) const override { return 0; }
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

}  // namespace acid

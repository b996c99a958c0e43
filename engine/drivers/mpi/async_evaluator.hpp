#pragma once

#include <optional>
#include <vector>

#include "engine/drivers/mpi/async_coordinator.hpp"
#include "engine/drivers/mpi/mpi_server.hpp"

namespace acid {

/// Rank 0 in an asynchronous run. It sees ends that no worker sees.
class AsyncEvaluator final : public Evaluator {
 public:
  /// Reads the checkpoint, if the run resumes one.
  AsyncEvaluator(const Run& run, Post& post, Collector& collector);

  void begin() override;
  AsyncCoordinator& coordinator() override { return coordinator_; }

  /// Null if the method has no server.
  MpiServer* server() { return server_ ? &*server_ : nullptr; }

  /// The state at a checkpoint, without vectors.
  template <class Archive>
  void persist(Archive& archive);

 private:
  double look() override;
  MeanModel mean(Gathered& gathered, const Look& look) override;
  void sampled() override;
  void save(const Gathered& gathered, const Position& here) override;
  void saved() override;
  bool diverged_unseen() const override { return coordinator_.diverged(); }
  void tell(const Gathered& gathered, Outcome& outcome) override;
  void count_edges(const Gathered& gathered, Outcome& outcome) const;
  Position position(const Gathered& gathered) const override;

  AsyncCoordinator coordinator_;
  double started_seconds_ = 0;
  std::optional<MpiServer> server_;  // uses the servers of shell_.ensemble
  bool cut_requested_ = false;       // and not gathered yet

  /// What is kept of a cut besides workers and sample times.
  struct Kept {
    std::int64_t gradients = 0;  // by all workers together
    std::int64_t count = 0;      // of every worker's clock
    double seconds = 0;
    std::vector<WorkerReport> reports;
    template <class Archive>
    void persist(Archive& archive) {
      archive(gradients, count, seconds, reports);
    }
  };
  Kept kept_;
};

}  // namespace acid

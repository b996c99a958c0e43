#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "engine/base/clock.hpp"
#include "engine/drivers/mpi/coordinator.hpp"
#include "engine/drivers/mpi/mpi.hpp"
#include "engine/drivers/mpi/report.hpp"
#include "engine/drivers/mpi/server.hpp"
#include "engine/run/outcome.hpp"

namespace acid {

/// What rank 0 does in an asynchronous run besides computing and talking: measures, evaluates and
/// saves what was collected, and sees ends coming that no worker does. The calling thread's.
class Evaluator {
 public:
  Evaluator(const Run& run, Post& post, Coordinator& coordinator, Collector& collector);

  /// Reads the checkpoint that the run goes on from, if it does. Any thread, alone.
  void load();
  /// Tells all processes how the run begins; before any other thread uses the post.
  void begin();
  /// Until the run has ended, or `failed` says that it cannot go on.
  Outcome run_to_end(const std::function<bool()>& failed);

  static std::string_view layout(const Method& method) {
    return method.has_server() ? "mpi-server/3" : "mpi-async/6";
  }
  /// Null where the method has none.
  MpiServer* server() { return server_ ? &*server_ : nullptr; }

  /// The state at a checkpoint, the vectors apart.
  template <class Archive>
  void persist(Archive& archive);

 private:
  void check_limits();
  bool by_clock() const;
  void take_sample(Gathered& gathered);
  void save(Gathered& gathered);
  Outcome end(Gathered& gathered);
  void count_edges(const Gathered& gathered, Outcome& outcome) const;
  Position position(const Gathered& gathered) const;
  Totals totals(const Gathered& gathered) const;

  const Run& run_;
  const RunSpec& spec_;
  Post& post_;
  Coordinator& coordinator_;
  Collector& collector_;
  double started_seconds_ = 0;
  Ensemble ensemble_;                // all workers, as of the last mark that was not only measured
  std::optional<MpiServer> server_;  // works on that of ensemble_
  Sampler sampler_;
  std::int64_t bytes_of_visits_ = 0;  // of hubs, at the mark that is looked at
  bool cut_requested_ = false;        // and not gathered yet

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

/// An asynchronous run under the mpi driver; run_mpi() says the rest.
Outcome run_mpi_async(const Run& run, const MpiOptions& options);

}  // namespace acid

#pragma once

#include <atomic>
#include <functional>
#include <optional>

#include "engine/drivers/mpi/collector.hpp"
#include "engine/drivers/mpi/post.hpp"
#include "engine/drivers/shared/run_shell.hpp"
#include "engine/drivers/shared/sample_queue.hpp"

namespace acid {

/// What rank 0 decides about all workers: when there is a sample or a cut, and when the run ends.
/// Belongs to the communication thread, except where noted.
class Coordinator {
 public:
  virtual ~Coordinator() = default;
  /// Takes a message of its kinds.
  virtual void deliver(const Mail& mail) = 0;
  /// Tells all processes the news. Returns for how many seconds there is no more.
  virtual double act() = 0;
  /// Whether a person stopped the run before its own end; any thread.
  virtual bool was_stopped() = 0;
  /// When this process heard of the last gradient, on the run's clock; any thread.
  double last_gradient_seconds() const { return last_gradient_seconds_.load(); }

 protected:
  std::atomic<double> last_gradient_seconds_{0};
};

/// Rank 0's work besides training and talking: measures, evaluates and saves what was collected. A
/// thread of its own measures, so that copies of workers are given back at once and no worker waits
/// for an evaluation. The rest belongs to the calling thread.
class Evaluator {
 public:
  Evaluator(const Run& run, Post& post, Collector& collector)
      : run_(run),
        spec_(run.spec),
        post_(post),
        collector_(collector),
        shell_(run, sequential_for(kEvaluationLane), {.elsewhere = true}) {}
  virtual ~Evaluator() = default;
  Evaluator(const Evaluator&) = delete;
  Evaluator& operator=(const Evaluator&) = delete;

  /// Tells all processes how the run begins. Called before any other thread uses the post.
  virtual void begin() = 0;
  virtual Coordinator& coordinator() = 0;
  /// Returns when the run has ended, or `failed` says that it cannot go on.
  Outcome run_to_end(const std::function<bool()>& failed);
  /// Ends its waits; any thread.
  void wake() { looked_.wake(); }

 protected:
  /// The run's position at a mark.
  virtual Position position(const Gathered& gathered) const = 0;
  /// Checks what no message reports. Returns for how many seconds to wait for the next mark.
  virtual double look() { return kLookSeconds; }
  /// The measuring thread's.
  virtual MeanModel mean(Gathered& gathered, const Look& look) {
    return gathered.mean(spec_, look);
  }
  virtual void sampled() {}
  /// Saves the state of shell_.ensemble, which is at that mark.
  virtual void save(const Gathered& gathered, const Position& here) = 0;
  virtual void saved() {}
  /// Whether a process reported divergence that no mark shows.
  virtual bool diverged_unseen() const { return false; }
  virtual void tell(const Gathered&, Outcome&) {}

  const Run& run_;
  const RunSpec& spec_;
  Post& post_;
  Collector& collector_;
  RunShell shell_;  // all workers, as of the last mark that was not only measured

 private:
  /// A mark, and the mean at a measured one, whose copies are given back.
  struct Looked {
    Gathered gathered;
    std::optional<MeanModel> mean;
  };
  Outcome record(const std::function<bool()>& failed);
  void measure();
  void take_sample(Looked& looked);
  void save_cut(const Gathered& gathered);
  Outcome end(Gathered& gathered);
  Totals totals(const Gathered& gathered) const {
    return shell_.totals(position(gathered), gathered.exchanges(),
                         gathered.sum(&WorkerReport::idle_seconds));
  }

  SampleQueue<Looked> looked_;
};

}  // namespace acid

#pragma once

#include <functional>

#include "engine/drivers/mpi/post.hpp"
#include "engine/drivers/mpi/report.hpp"
#include "engine/drivers/shared/run_shell.hpp"

namespace acid {

/// What rank 0 decides about all workers: when there is a sample or a cut, and when the run ends.
/// The communication thread's, but for what says otherwise.
class Coordinator {
 public:
  virtual ~Coordinator() = default;
  /// Takes a message of a kind that is meant for it.
  virtual void deliver(const Mail& mail) = 0;
  /// Tells all what is new. Returns how long nothing more is.
  virtual double act() = 0;
  /// The run was stopped by a person, before its own end; any thread.
  virtual bool was_stopped() = 0;
};

/// What rank 0 does besides training and talking: measures, evaluates and saves what was collected.
/// The calling thread's.
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

  /// Tells all processes how the run begins; before any other thread uses the post.
  virtual void begin() = 0;
  virtual Coordinator& coordinator() = 0;
  /// Until the run has ended, or `failed` says that it cannot go on.
  Outcome run_to_end(const std::function<bool()>& failed);

 protected:
  /// Where the run stood at a mark.
  virtual Position position(const Gathered& gathered) const = 0;
  virtual std::int64_t exchanges(const Gathered& gathered) const = 0;
  /// Looks at what no message tells. Returns for how long one may wait for the next mark.
  virtual double look() { return kLookSeconds; }
  virtual MeanModel mean(const Gathered& gathered) {
    return gathered.mean(spec_, shell_.sampler.sample_times().evaluates_workers());
  }
  virtual void sampled() {}
  /// Saves what shell_.ensemble is now, of that mark.
  virtual void save(const Gathered& gathered, const Position& here) = 0;
  virtual void saved() {}
  /// The run ends with this mark, and some process knew better than the marks why.
  virtual bool diverged_unseen() const { return false; }
  virtual void tell(const Gathered&, Outcome&) {}

  const Run& run_;
  const RunSpec& spec_;
  Post& post_;
  Collector& collector_;
  RunShell shell_;  // all workers, as of the last mark that was not only measured

 private:
  void take_sample(Gathered& gathered);
  void save_cut(const Gathered& gathered);
  Outcome end(Gathered& gathered);
  Totals totals(const Gathered& gathered) const {
    return shell_.totals(position(gathered), exchanges(gathered), gathered.idle_seconds());
  }
};

}  // namespace acid

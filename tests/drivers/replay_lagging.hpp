#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "engine/run/event_log.hpp"
#include "engine/run/outcome.hpp"
#include "engine/run/sampler.hpp"
#include "engine/topology/edge_schedule.hpp"
#include "tests/drivers/replay_fixture.hpp"

namespace acid::test {

/// Plays an asynchronous run like processes that hear of each other late: every worker's clock
/// counts the gradients it has heard of, exchanges are offered and later applied, and the next
/// event is drawn. One thread, real workers; recorded like such a run.
class LaggingRun {
 public:
  LaggingRun(const Replayable& run, std::uint64_t seed, Recorder& recorder,
             const Checkpointing& checkpointing = {});
  /// Goes on until the budget is spent or a value is not finite.
  Outcome finish();
  /// Only so many gradients, and no ending.
  void break_off_after(std::int64_t gradients);

  /// How often a worker made its next offer before the partner of the last one had applied it.
  int overtaken() const { return overtaken_; }
  /// Commits whose number another commit has too.
  int repeated() const { return repeated_; }

 private:
  struct Hand {
    explicit Hand(std::size_t dimension) : of_i(dimension), of_j(dimension) {}
    DueEdge edge;
    double time = 0;
    Arena<float> of_i, of_j;
    int to_apply = 2;
  };
  struct Own {
    std::int64_t clock = 0;
    bool computing = false;
    std::shared_ptr<Hand> hand, last;  // last: the one applied before
    std::deque<DueEdge> edges;         // drawn, not offered
    GradientRecords notes;
  };
  void act();
  void hear(int w);
  void begin(int w);
  void commit(int w);
  void offer(int w);
  void apply(int w);
  void measure();
  void save_cut(Checkpoints& checkpoints);
  void settle(double at_least);
  void drain();
  void draw();
  GradientRecords collect_notes();
  MeanModel mean();
  Position position(double time) const;
  Totals totals(double time) const;
  bool over() const;
  double time_of(std::int64_t number) const { return static_cast<double>(number) / spec_.workers; }
  Own& own(int w) { return own_[static_cast<std::size_t>(w)]; }
  int any_worker() { return static_cast<int>(random_.below(own_.size())); }

  const RunSpec& spec_;
  Stream random_;
  const Checkpointing checkpointing_;
  std::unique_ptr<Objective> objective_;
  Ensemble ensemble_;
  EventLog log_;
  Sampler sampler_;
  EdgeSchedule schedule_;
  EdgeCounter edges_;
  std::vector<Own> own_;
  std::vector<int> numbers_;  // how many commits have each number
  std::int64_t commits_ = 0, exchanges_ = 0, commits_after_divergence_ = 0;
  bool diverged_ = false;
  int overtaken_ = 0, repeated_ = 0;
};

}  // namespace acid::test

#pragma once

#include <fmt/ranges.h>

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "store/files.hpp"
#include "store/merge.hpp"
#include "store/remove.hpp"
#include "store/tags.hpp"
#include "tests/store/upkeep_fixture.hpp"

namespace acid::test {

/// Where the store is not as it should be, a line each. A run that was killed is as it should be.
inline std::string unsound(const Store& store) {
  std::string lines;
  for (const StoreFinding& one : inspect_store(store))
    if (one.what.find("was never ended") == std::string::npos) lines += one.what + "\n";
  return lines;
}

inline MergeReport merge(Store& target, const std::vector<std::string>& folders) {
  return merge_stores(target, folders, [](std::size_t, std::size_t) {});
}

/// The contents digest of stores that are merged into a new one, in this order.
inline std::string merged_digest(const std::vector<std::string>& folders) {
  const ScratchFolder temp;
  Store target(temp.store(), Store::Access::write);
  for (const std::string& folder : folders) {
    merge(target, {folder});
    REQUIRE(unsound(target) == "");
  }
  CHECK(unsound(target) == "");
  return contents_digest(target);
}

/// Executions, at random, of a few runs that several stores share.
class Histories {
 public:
  explicit Histories(std::uint64_t seed) : random_(seed) {
    for (std::uint64_t run = 1; run <= 4; ++run) runs_.push_back(make_run(run));
  }

  std::size_t below(std::size_t end) { return static_cast<std::size_t>(random_() % end); }

  /// Asks for some of the runs as an experiment of one of two names.
  void ask(Store& store) {
    ExperimentRecord experiment = make_experiment(fmt::format("e{}", below(3)));
    if (below(2) == 0) experiment.search = {{"chose", below(3)}};
    std::vector<RunRecord> some = runs_;
    std::ranges::shuffle(some, random_);
    some.resize(1 + below(some.size()));
    for (RunRecord& run : some) {
      run.label = fmt::format("l{}", below(2));
      run.is_search = below(4) == 0;
      run.settings["save"] = below(3);
    }
    store.add_experiment(experiment, some);
    if (below(3) == 0)
      store.add_predictions(
          {{some.front().id, "", {{"seconds", {}, double(below(9)), 0, 9, {1.5}}}}});
  }

  /// Executes a run of the store, or goes on with it; it may be killed.
  void execute(Store& store) {
    const auto runs = list_runs(store);
    if (runs.empty()) return;
    const RunSummary& run = runs[below(runs.size())];
    std::optional<Continuation> from;
    std::int64_t gradients = 0;
    if (const auto all = checkpoints_of(store, run.id); !all.empty() && below(3) > 0) {
      const CheckpointRow& cut = all[below(all.size())];
      from = Continuation{cut.id, {}};
      gradients = cut.position.gradients;
    }
    Execution execution(store, run.id, gradients, from, dead_lease(++executions_));
    execution.work(1 + static_cast<std::int64_t>(below(4)));
    if (below(2) == 0) {
      for (const std::string& path : execution.checkpoint(fmt::format("{}", executions_)))
        remove_file(store.folder(), path);
      execution.work(static_cast<std::int64_t>(below(3)));
    }
    constexpr RunState kEnds[] = {RunState::finished, RunState::finished, RunState::interrupted,
                                  RunState::failed, RunState::diverged};
    if (below(5) > 0) execution.end(kEnds[below(std::size(kEnds))]);
    if (below(4) == 0) store.add_verification(run.id, verified(fmt::format("v{}", below(100))));
  }

  /// A run or an experiment of the store.
  Named some_of(const Store& store) {
    Named named;
    const auto runs = list_runs(store);
    const auto experiments = list_experiments(store);
    if (!runs.empty() && below(2) == 0) named.runs = {runs[below(runs.size())].id};
    if (!experiments.empty() && below(2) == 0)
      named.experiments = {experiments[below(experiments.size())].id};
    return named;
  }

  void tag(Store& store) {
    TagChange change;
    (below(3) > 0 ? change.add : change.remove) = {fmt::format("t{}", below(3))};
    if (below(3) == 0) change.note = fmt::format("note {}", below(5));
    change_tags(store, some_of(store), change);
  }

  void remove(Store& store) {
    const Named named = some_of(store);
    const Removal removal = find_removal(store, named);
    remove_from(store, named, removal);
    for (const std::string& run : removal.runs) {
      CHECK(!exists(store.folder(), "checkpoints/" + run));
      CHECK_THROWS_AS(run_summaries(store, {run}), UsageError);
    }
  }

 private:
  std::mt19937_64 random_;
  std::vector<RunRecord> runs_;
  int executions_ = 0;
};

}  // namespace acid::test

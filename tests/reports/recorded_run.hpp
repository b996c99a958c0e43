#pragma once

#include <string>
#include <vector>

#include "engine/base/digest.hpp"
#include "store/writer.hpp"
#include "tests/reports/synthetic.hpp"

namespace acid::synthetic {

/// A store of some runs of one group, to which each test records. It ends the runs at its end.
class RecordedRuns {
 public:
  explicit RecordedRuns(int count) {
    for (int seed = 1; seed <= count; ++seed) {
      RunRecord run;
      run.settings = {{"algorithm", {{"kind", "ad-psgd"}}}};
      run.group = sha256_hex(run.settings.dump());
      run.settings["seed"] = seed;
      run.digest = sha256_hex(run.settings.dump());
      run.id = run.digest.substr(0, 12);
      run.algorithm = run.label = "ad-psgd";
      run.seed = static_cast<std::uint64_t>(seed);
      run.driver = "virtual";
      run.topology = "ring";
      run.workers = 4;
      run.budget_gradients = 400;
      run.plan = nlohmann::json::object();
      ids.push_back(run.id);
      runs_.push_back(std::move(run));
    }
    ExperimentRecord experiment;
    experiment.name = "recorded";
    experiment.recipe_digest = sha256_hex("recorded");
    experiment.id = experiment.recipe_digest.substr(0, 12);
    store.add_experiment(experiment, runs_);
  }

  /// At time t: 4t gradients, t/10 seconds, 8t bytes.
  static Position at(double time) {
    return {static_cast<std::int64_t>(4 * time), time, time / 10,
            static_cast<std::int64_t>(8 * time)};
  }
  struct Sample {
    double time, value;
  };
  /// Records one metric of the run in a new attempt, which goes on.
  void record(std::size_t run, const std::string& metric, const std::vector<Sample>& samples) {
    const std::int64_t attempt =
        store.begin_attempt(ids[run], Lease::of_this_process(), {}, {}, {});
    RunWriter writer(store.folder(), ids[run], attempt);
    for (const Sample& sample : samples) {
      const std::vector<Value> values{{metric, kWholeRun, sample.value}};
      writer.sample(at(sample.time), values);
      writer.progress(at(sample.time));
    }
    writer.flush();
    attempts_[run] = attempt;
  }
  void finish(std::size_t run, double time) {
    AttemptResult result;
    result.position = at(time);
    store.end_attempt(attempts_.at(run), result);
  }

  Folder folder;
  Store store{folder.path(), Store::Access::write};
  std::vector<std::string> ids;

 private:
  std::vector<RunRecord> runs_;
  std::map<std::size_t, std::int64_t> attempts_;
};

}  // namespace acid::synthetic

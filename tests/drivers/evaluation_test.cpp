// Measurements of the mean and of the workers' own models, computed again from the models.
#include <algorithm>
#include <cmath>
#include <filesystem>

#include "engine/base/digest.hpp"
#include "engine/recorder/metrics.hpp"
#include "tests/catch.hpp"
#include "tests/drivers/watched_task.hpp"

namespace acid::test {
namespace {

using Models = std::vector<WatchedTask::Model>;
constexpr std::size_t kWatched = 4;

struct Way {
  const char* driver;
  const char* algorithm;
  const char* round = nullptr;  // the method's own
};
constexpr Way kWays[] = {
    {"virtual", "ar-sgd"},  {"virtual", "d-psgd"}, {"virtual", "d-psgd", kAdaptThenCombine},
    {"virtual", "ad-psgd"}, {"virtual", "a2cid2"}, {"threads", "ar-sgd"},
    {"threads", "d-psgd"},  {"threads", "a2cid2"}, {"mpi", "ar-sgd"},
    {"mpi", "d-psgd"},      {"mpi", "a2cid2"},
};

Replayable prepared(const Way& way) {
  Replayable run({.algorithm = way.algorithm,
                  .workers = static_cast<int>(kWatched),
                  .rate = 2,
                  .gradients = 120,
                  .dimension = 70});
  if (way.round != nullptr) run.spec.method.round = Round(way.round);
  run.task["heterogeneity"] = 1.0;
  run.task["initial_spread"] = 1.0;
  run.spec.cadence = {.consensus_every = 2.5, .evaluate_every = 5};
  return run;
}

WatchedRun watched(const Way& way, Replayable& run) {
  VirtualOptions simulated;
  simulated.compute.kind = ComputeKind::lognormal;
  simulated.compute.parameter = 0.3;
  simulated.network.link.latency_seconds = 0.2;  // exchanges are in flight at a sample
  return WatchedRun{.driver = way.driver, .run = run, .simulated = simulated};
}

std::string name_of(const Way& way) {
  return std::string(way.driver) + ", " + way.algorithm + ", round " +
         (way.round != nullptr ? way.round : "its own");
}

std::vector<double> mean_of_models(std::span<const WatchedTask::Model> models,
                                   std::vector<float> WatchedTask::Model::*part) {
  std::vector<double> mean((models[0].*part).size());
  for (std::size_t k = 0; k < mean.size(); ++k) {
    for (const WatchedTask::Model& model : models) mean[k] += (model.*part)[k];
    mean[k] /= static_cast<double>(models.size());
  }
  return mean;
}

std::vector<float> rounded(const std::vector<double>& values) {
  return {values.begin(), values.end()};
}

double squared(const std::vector<float>& values) {
  double sum = 0;
  for (const float value : values) sum += static_cast<double>(value) * value;
  return sum;
}

/// As WatchedTask defines it, on the test set; the curvature is 1.
double own_loss(const WatchedTask::Model& model) {
  return squared(model.x) / 2 + squared(model.buffers);
}
double own_accuracy(const WatchedTask::Model& model) {
  double above = 0;
  for (std::size_t k = 0; k < WatchedTask::kBuffers; ++k)
    if (model.buffers[k] > model.x[k]) above += 1.0 / WatchedTask::kBuffers;
  return above;
}

/// The mean over the workers of their own objectives at the model, from their gradients.
double training_loss(const Replayable& run, const WatchedTask::Model& model) {
  const auto objective = quadratic(run.task, run.spec.workers, run.spec.seeds, 1);
  std::vector<float> g(model.x.size());
  double sum = squared(model.buffers);
  for (int w = 0; w < run.spec.workers; ++w)
    sum += objective->gradient(0, w, 0, model.x, {}, g) / run.spec.workers;
  return sum;
}

void check_workers(const MemoryRecorder& recorder, std::size_t k,
                   std::span<const WatchedTask::Model> workers) {
  double loss = 0, worst = 0, accuracy = 0, least = 1;
  for (std::size_t w = 0; w < workers.size(); ++w) {
    const double own = own_loss(workers[w]), right = own_accuracy(workers[w]);
    const int worker = static_cast<int>(w);
    CHECK(recorder.series("worker_loss", worker).at(k).value == Approx(own));
    CHECK(recorder.series("worker_accuracy", worker).at(k).value == Approx(right));
    loss += own / static_cast<double>(workers.size());
    accuracy += right / static_cast<double>(workers.size());
    worst = std::max(worst, own);
    least = std::min(least, right);
  }
  CHECK(recorder.series("worker_loss").at(k).value == Approx(loss));
  CHECK(recorder.series("worker_loss_worst").at(k).value == Approx(worst));
  CHECK(recorder.series("worker_accuracy").at(k).value == Approx(accuracy));
  CHECK(recorder.series("worker_accuracy_worst").at(k).value == Approx(least));
}

double consensus_at(const MemoryRecorder& recorder, const Position& position) {
  double found = NAN;
  for (const auto& point : recorder.series("consensus_distance"))
    if (point.position.gradients == position.gradients &&
        point.position.normalised_time == position.normalised_time)
      found = point.value;
  return found;
}

}  // namespace

TEST_CASE("every evaluation is of the exact mean, and of the models that it is the mean of") {
  for (const Way& way : kWays) {
    INFO(name_of(way));
    Replayable run = prepared(way);
    run.spec.cadence.workers = WorkerEvaluation::always;
    WatchedRun it = watched(way, run);
    const Outcome outcome = it.execute();
    REQUIRE(outcome.ending == Ending::finished);
    const auto& losses = it.recorder.series("eval_loss");
    REQUIRE(losses.size() >= 2);  // threads leave out samples that come too late
    REQUIRE(it.evaluated.size() == losses.size() * (1 + kWatched));
    for (std::size_t k = 0; k < losses.size(); ++k) {
      INFO("evaluation " << k);
      const WatchedTask::Model& mean = it.evaluated[k * (1 + kWatched)];
      const auto workers = std::span(it.evaluated).subspan(k * (1 + kWatched) + 1, kWatched);
      CHECK(mean.x == rounded(mean_of_models(workers, &WatchedTask::Model::x)));
      CHECK(mean.buffers == rounded(mean_of_models(workers, &WatchedTask::Model::buffers)));
      CHECK(losses[k].value == Approx(own_loss(mean)));
      CHECK(it.recorder.series("eval_accuracy").at(k).value == Approx(own_accuracy(mean)));
      const auto& training = it.recorder.series("train_loss_at_mean");
      CHECK(training.at(k).value == Approx(training_loss(run, mean)).epsilon(1e-5));
      check_workers(it.recorder, k, workers);
      const std::vector<double> x = mean_of_models(workers, &WatchedTask::Model::x);
      double distance = 0;
      for (const WatchedTask::Model& worker : workers)
        for (std::size_t j = 0; j < x.size(); ++j)
          distance += std::pow(worker.x[j] - x[j], 2) / kWatched;
      CHECK(consensus_at(it.recorder, losses[k].position) == Approx(distance).margin(1e-12));
    }
  }
}

TEST_CASE("CORRECTNESS 14: the final model is the exact mean of the workers") {
  for (const Way& way : kWays) {
    INFO(name_of(way));
    Replayable run = prepared(way);
    WatchedRun it = watched(way, run);
    const Outcome outcome = it.execute();
    REQUIRE(outcome.ending == Ending::finished);
    // At the end the workers come last, and the digests show that these are they.
    REQUIRE(it.evaluated.size() == it.recorder.series("eval_loss").size() + kWatched);
    const auto workers = std::span(it.evaluated).last(kWatched);
    for (std::size_t w = 0; w < kWatched; ++w)
      CHECK(sha256_hex(std::span<const float>(workers[w].x)) == outcome.worker_digests[w]);
    CHECK(outcome.mean == rounded(mean_of_models(workers, &WatchedTask::Model::x)));
    CHECK(outcome.mean_buffers == rounded(mean_of_models(workers, &WatchedTask::Model::buffers)));
    CHECK(outcome.mean_digest == sha256_hex(std::span<const float>(outcome.mean)));
    check_workers(it.recorder, 0, workers);
  }
}

TEST_CASE("local buffers: the mean is evaluated with every worker's, and has none of its own") {
  for (const Way& way : kWays) {
    INFO(name_of(way));
    Replayable run = prepared(way);
    run.spec.average_buffers = false;
    run.spec.cadence.workers = WorkerEvaluation::always;
    WatchedRun it = watched(way, run);
    const Outcome outcome = it.execute();
    const auto& losses = it.recorder.series("eval_loss");
    REQUIRE(it.evaluated.size() == losses.size() * 2 * kWatched);
    for (std::size_t k = 0; k < losses.size(); ++k) {
      const auto means = std::span(it.evaluated).subspan(k * 2 * kWatched, kWatched);
      const auto workers = std::span(it.evaluated).subspan((k * 2 + 1) * kWatched, kWatched);
      double loss = 0, accuracy = 0, training = 0;
      for (std::size_t w = 0; w < kWatched; ++w) {
        CHECK(means[w].x == means[0].x);
        CHECK(means[w].buffers == workers[w].buffers);
        loss += own_loss(means[w]) / kWatched;
        accuracy += own_accuracy(means[w]) / kWatched;
        training += training_loss(run, means[w]) / kWatched;
      }
      CHECK(losses[k].value == Approx(loss));
      CHECK(it.recorder.series("eval_accuracy").at(k).value == Approx(accuracy));
      CHECK(it.recorder.series("train_loss_at_mean").at(k).value == Approx(training).epsilon(1e-5));
    }
    const auto last = std::span(it.evaluated).last(kWatched);
    CHECK(last[0].buffers != last[1].buffers);
    CHECK(outcome.mean_buffers.empty());
  }
}

TEST_CASE("workers that never talk are not rewarded by the training loss of their mean") {
  const auto run_of = [](const char* driver, const char* algorithm, double rate) {
    Setup setup;
    setup.algorithm = algorithm;
    if (rate >= 0) setup.options = {{"communication_rate", rate}};
    setup.on_threads = std::string(driver) == "threads";
    setup.task = {{"dimension", 20}, {"heterogeneity", 2.0}, {"noise", 0.1}};
    setup.spec.schedule.learning_rate = 0.1;
    setup.spec.budget.gradients = 1600;
    setup.spec.cadence.evaluate_every = 50;
    setup.run();
    return std::pair(setup.recorder.last("train_loss"), setup.recorder.last("train_loss_at_mean"));
  };
  for (const char* driver : {"virtual", "threads"}) {
    const auto [reduced, reduced_at_mean] = run_of(driver, "ar-sgd", -1);
    const auto [silent, silent_at_mean] = run_of(driver, "ad-psgd", 0);
    INFO(driver << ": all-reduce " << reduced << ", " << reduced_at_mean << "; silent " << silent
                << ", " << silent_at_mean);
    // Therefore it is no outcome: on threads the scheduler decides how far each worker has come.
    CHECK(silent < (driver == std::string("virtual") ? 0.1 : 0.5) * reduced);
    CHECK(silent_at_mean > 0.99 * reduced_at_mean);
    CHECK(reduced_at_mean == Approx(reduced).epsilon(0.1));  // at one point on all data
  }
  CHECK(find_metric("train_loss")->better == 0);
  CHECK(find_metric("train_loss_at_mean")->better == -1);
}

TEST_CASE("a target can be the training loss of the mean, or the worst worker's") {
  struct Aim {
    const char* metric;
    double value;
  };
  for (const Aim aim :
       {Aim{"train_loss_at_mean", 5}, Aim{"worker_loss_worst", 5}, Aim{"worker_loss", 5}}) {
    INFO(aim.metric);
    Setup setup;
    setup.task = {{"dimension", 30}, {"initial_spread", 1.0}};
    setup.spec.schedule.learning_rate = 0.05;
    setup.spec.budget.gradients = 100'000;
    setup.spec.budget.target = Budget::Target{aim.metric, aim.value};
    setup.spec.cadence.evaluate_every = 2;
    setup.spec.cadence.workers = WorkerEvaluation::always;
    const Outcome outcome = setup.run();
    CHECK(outcome.ending == Ending::finished);
    CHECK(outcome.position.gradients < 2000);
    CHECK(outcome.message.find(std::string(aim.metric) + " ≤ 5") != std::string::npos);
    const auto& series = setup.recorder.series(aim.metric);
    for (const auto& point : series)
      CHECK((point.value <= aim.value) == (point.position.gradients == outcome.position.gradients));
  }
  Replayable run = prepared({"virtual", "ad-psgd"});
  run.spec.budget.gradients = 100'000;
  run.spec.cadence.workers = WorkerEvaluation::always;
  run.spec.budget.target = Budget::Target{"worker_accuracy_worst", 1.0};
  WatchedRun it = watched({"virtual", "ad-psgd"}, run);
  const Outcome outcome = it.execute();
  CHECK(outcome.message.find("worker_accuracy_worst ≥ 1") != std::string::npos);
  CHECK(it.recorder.last("worker_accuracy_worst") == 1);
}

TEST_CASE("replay: the workers' own models measure as they did on threads") {
  Replayable run = prepared({"threads", "a2cid2"});
  run.spec.budget.gradients = 2000;
  run.spec.cadence.workers = WorkerEvaluation::always;
  MemoryRecorder recorded, replayed;
  run.record(recorded);
  run.replay(script_of(recorded, run.spec.workers), replayed);
  REQUIRE(recorded.has("worker_loss_worst"));
  CHECK(other_series(recorded, replayed) == "");
  for (int w = 0; w < run.spec.workers; ++w) {
    const Series& a = recorded.series("worker_loss", w);
    const Series& b = replayed.series("worker_loss", w);
    CHECK(same_points(a.begin(), a.end(), b.begin(), b.end()));
  }
}

TEST_CASE("buffers survive a cut in every driver") {
  for (const Way& way : kWays) {
    const bool happens_once = way.driver[0] != 'v' && way.algorithm == std::string("a2cid2");
    INFO(name_of(way));
    Replayable run = prepared(way);
    if (happens_once) run.spec.budget.gradients = 4000;
    CheckpointFolder folder(happens_once ? 240 : 8);
    if (happens_once) run.before_gradient = waiting_for(folder, 1300, 2);
    WatchedRun whole = watched(way, run);
    const Outcome end = whole.execute({&folder, nullptr});
    run.before_gradient = {};
    REQUIRE(folder.saved().size() >= 2);
    for (const CheckpointFolder::Saved& saved : folder.saved()) {
      INFO("from step " << saved.step);
      const CheckpointFile from(saved.path);
      WatchedRun rest = watched(way, run);
      rest.recorder.events_may_start_late();
      const Outcome again = rest.execute({nullptr, &from});
      REQUIRE(again.ending == Ending::finished);
      // One count per gradient: none of those before the cut is forgotten, none in flight counts
      // twice.
      const auto workers = std::span(rest.evaluated).last(kWatched);
      for (std::size_t w = 0; w < kWatched; ++w)
        CHECK(workers[w].buffers.back() ==
              static_cast<float>(static_cast<std::int64_t>(w) + again.worker_gradients[w]));
      if (happens_once) continue;
      CHECK(again.mean_buffers == end.mean_buffers);
      CHECK(rest.recorder.last("eval_loss") == whole.recorder.last("eval_loss"));
      CHECK(rest.recorder.last("worker_loss_worst") == whole.recorder.last("worker_loss_worst"));
    }
  }
}

}  // namespace acid::test

// Everything written into a store can be read back, and attempts follow their rules.
#include <chrono>
#include <cmath>
#include <future>

#include "tests/catch.hpp"
#include "tests/store/fixture.hpp"

namespace acid {
namespace {

using namespace test;

// Text that a user may write into a label: quotes, control characters, other scripts, markup, SQL.
const std::string kHostile =
    "A²CiD² 'x\"; DROP TABLE runs; -- \n\t\\ 日本語 🧪 <script>alert(1)</script> %s ${HOME}";

AttemptResult full_result() {
  AttemptResult result;
  result.message = kHostile;
  result.position = {1234, 56.5, 7.25, 1LL << 40};
  result.worker_digests = {sha256_hex("a"), sha256_hex("b")};
  result.mean_digest = sha256_hex("mean");
  result.edges = {{0, 1, 0.5, 17}, {0, 3, 0.25, 0}, {2, 3, 1e-9, 1LL << 33}};
  result.realised_rate = 0.99;
  result.realised_chi1 = 1.7;
  result.exchanges_drawn = 20;
  result.exchanges_done = 17;
  result.exchanges_waiting = 3;
  result.worker_gradients = {600, 634, 0};
  result.worker_idle_seconds = {0.5, 0.0, 1e-3};
  result.staleness = {1000, 200, 0, 34};
  result.worker_spans = {{{SpanKind::compute, 0, 0.5}, {SpanKind::wait, 0.5, 1e9 + 0.25}},
                         {},
                         {{SpanKind::exchange, 1e-12, 1e-12}}};
  result.artifacts = {{"final-mean", "checkpoints/x/mean.safetensors", sha256_hex("file"), 4096},
                      {"final-mean", kHostile, sha256_hex("other"), 0}};
  return result;
}

TEST_CASE("an experiment and its runs read back as they were written") {
  TempFolder temp;
  ExperimentRecord experiment = make_experiment(kHostile);
  experiment.overrides = {"optimizer.learning_rate=0.1", kHostile};
  experiment.command_line = "acid run " + kHostile;
  RunRecord run = make_run((1ULL << 63) - 1, "a2cid2");
  run.label = std::string(5000, 'x') + kHostile;
  run.settings["note"] = kHostile;
  run.plan["eta"] = 0.1;
  Store store(temp.store(), Store::Access::write);
  store.add_experiment(experiment, {run});

  const ExperimentRecord same = experiment_of(store, run_summaries(store, {run.id}).front());
  CHECK(same.id == experiment.id);
  CHECK(same.name == kHostile);
  CHECK(same.recipe_path == experiment.recipe_path);
  CHECK(same.recipe_text == experiment.recipe_text);
  CHECK(same.recipe_digest == experiment.recipe_digest);
  CHECK(same.overrides == experiment.overrides);
  CHECK(same.command_line == experiment.command_line);

  const RunDetail detail = run_detail(store, run.id);
  CHECK(detail.summary.label == run.label);
  CHECK(detail.summary.algorithm == "a2cid2");
  CHECK(detail.summary.seed == run.seed);
  CHECK(detail.summary.digest == run.digest);
  CHECK(detail.summary.group == run.group);
  CHECK(detail.summary.experiment == experiment.id);
  CHECK(detail.summary.experiment_name == kHostile);
  CHECK(detail.summary.driver == "virtual");
  CHECK(detail.summary.topology == "ring");
  CHECK(detail.summary.workers == 4);
  CHECK(detail.summary.budget_gradients == 1000);
  CHECK(detail.summary.state == RunState::planned);
  CHECK(detail.summary.started.empty());
  CHECK(detail.settings == run.settings);
  CHECK(detail.plan == run.plan);
  CHECK(detail.attempts.empty());
  CHECK_FALSE(detail.result.has_value());
}

TEST_CASE("an attempt and its result read back as they were written") {
  TempFolder temp;
  const RunRecord run = make_run(1);
  Store store = make_store(temp.store(), {run});
  const nlohmann::json environment = {{"cpu", kHostile}, {"cores", 2}};
  const nlohmann::json seeds = {{"init", {{"0", 18446744073709551615ULL}}}};
  const std::vector<std::pair<std::string, std::string>> files{{"b.bin", "1"}, {kHostile, "2"}};
  const Lease lease = Lease::of_this_process();
  const std::vector<std::vector<std::int64_t>> holdings{{3, 0, 1}, {0, 2, 2}};
  const std::int64_t attempt = store.begin_attempt(run.id, lease, environment, seeds, files,
                                                   std::nullopt, std::nullopt, holdings);
  CHECK(run_detail(store, run.id).summary.state == RunState::running);
  CHECK(run_detail(store, run.id).holdings == holdings);
  CHECK(run_detail(store, run.id).attempts.at(0).outcome.empty());

  const AttemptResult wanted = full_result();
  store.end_attempt(attempt, wanted);
  const RunDetail detail = run_detail(store, run.id);
  CHECK(detail.summary.state == RunState::finished);
  CHECK(detail.summary.message == kHostile);
  CHECK(detail.summary.progress.gradients == 1234);
  CHECK(detail.summary.finished >= detail.summary.started);
  CHECK(detail.seeds == seeds);
  CHECK(detail.file_digests == files);
  REQUIRE(detail.attempts.size() == 1);
  CHECK(detail.attempts[0].number == 1);
  CHECK(detail.attempts[0].host == lease.host);
  CHECK(detail.attempts[0].pid == lease.pid);
  CHECK(detail.attempts[0].environment == environment);
  CHECK(detail.attempts[0].outcome == "finished");
  CHECK(detail.attempts[0].wall_seconds >= 0);

  REQUIRE(detail.result.has_value());
  const AttemptResult& result = *detail.result;
  CHECK(result.message == kHostile);
  CHECK(result.position.normalised_time == 56.5);
  CHECK(result.position.seconds == 7.25);
  CHECK(result.position.bytes == 1LL << 40);
  CHECK(result.worker_digests == wanted.worker_digests);
  CHECK(result.mean_digest == wanted.mean_digest);
  REQUIRE(result.edges.size() == 3);
  CHECK(result.edges[2].i == 2);
  CHECK(result.edges[2].j == 3);
  CHECK(result.edges[2].nominal == 1e-9);
  CHECK(result.edges[2].count == 1LL << 33);
  CHECK(result.realised_rate == 0.99);
  CHECK(result.realised_chi1 == 1.7);
  CHECK_FALSE(result.realised_chi2.has_value());
  CHECK(result.exchanges_drawn == 20);
  CHECK(result.exchanges_done == 17);
  CHECK(result.exchanges_waiting == 3);
  CHECK(result.worker_gradients == wanted.worker_gradients);
  CHECK(result.worker_idle_seconds == wanted.worker_idle_seconds);
  CHECK(result.staleness == wanted.staleness);
  const std::vector<std::vector<Span>> spans = read_spans(store, run.id);
  REQUIRE(spans.size() >= 3);
  for (std::size_t w = 0; w < spans.size(); ++w) {
    REQUIRE(spans[w].size() == (w < 3 ? wanted.worker_spans[w].size() : 0));
    for (std::size_t k = 0; k < spans[w].size(); ++k) {
      CHECK(spans[w][k].kind == wanted.worker_spans[w][k].kind);
      CHECK(spans[w][k].begin == wanted.worker_spans[w][k].begin);
      CHECK(spans[w][k].end == wanted.worker_spans[w][k].end);
    }
  }
  REQUIRE(result.artifacts.size() == 2);
  CHECK(result.artifacts[0].role == "final-mean");
  CHECK(result.artifacts[0].bytes == 4096);
  CHECK(result.artifacts[1].path == kHostile);
}

TEST_CASE("text that is not UTF-8 does not stop a run from being recorded") {
  TempFolder temp;
  const RunRecord run = make_run(1);
  Store store = make_store(temp.store(), {run});
  const std::int64_t attempt = store.begin_attempt(
      run.id, Lease::of_this_process(), {{"PATH", "\xff\xfe/bin"}}, nullptr, {{"\xc3.bin", "1"}});
  AttemptResult result = ended_as(RunState::failed);
  result.message = "bad byte \x80";
  store.end_attempt(attempt, result);
  CHECK(run_detail(store, run.id).summary.message == result.message);
  CHECK(run_detail(store, run.id).file_digests.at(0).first == "\xc3.bin");
}

TEST_CASE("runs are shared between experiments by digest") {
  TempFolder temp;
  const RunRecord shared = make_run(1), first_only = make_run(2), second_only = make_run(3);
  Store store(temp.store(), Store::Access::write);
  store.add_experiment(make_experiment("first"), {shared, first_only});
  store.end_attempt(begin(store, shared.id), ended_as(RunState::finished));
  store.add_experiment(make_experiment("second"), {second_only, shared, second_only});

  CHECK(list_runs(store).size() == 3);
  CHECK(resolve_runs(store, {"first"}).ids == std::vector{shared.id, first_only.id});
  CHECK(resolve_runs(store, {"second"}).ids == std::vector{second_only.id, shared.id});
  CHECK(run_summaries(store, {shared.id}).at(0).state == RunState::finished);
  CHECK(run_summaries(store, {shared.id}).at(0).experiment_name == "second");
  CHECK(experiment_of(store, run_summaries(store, {shared.id}).front()).name == "second");
  CHECK(experiment_of(store, run_summaries(store, {first_only.id}).front()).name == "first");
}

TEST_CASE("asking for an experiment again makes it the newest and keeps its runs' results") {
  TempFolder temp;
  const RunRecord run = make_run(1), other = make_run(2);
  Store store(temp.store(), Store::Access::write);
  store.add_experiment(make_experiment("first"), {run});
  store.add_experiment(make_experiment("second"), {other});
  CHECK(resolve_runs(store, {}).ids == std::vector{other.id});
  store.end_attempt(begin(store, run.id), full_result());
  store.add_experiment(make_experiment("first"), {run});
  CHECK(resolve_runs(store, {"@latest"}).ids == std::vector{run.id});
  CHECK(run_detail(store, run.id).result->mean_digest == full_result().mean_digest);
}

TEST_CASE("a run moves through the states of its attempts") {
  TempFolder temp;
  const RunRecord run = make_run(1);
  Store store = make_store(temp.store(), {run});
  const auto state = [&] { return run_summaries(store, {run.id}).at(0).state; };
  CHECK(state() == RunState::planned);
  for (const RunState outcome :
       {RunState::failed, RunState::diverged, RunState::interrupted, RunState::finished}) {
    const std::int64_t attempt = begin(store, run.id);
    CHECK(state() == RunState::running);
    store.end_attempt(attempt, ended_as(outcome));
    CHECK(state() == outcome);
  }
  CHECK(run_detail(store, run.id).attempts.back().number == 4);
  CHECK_THROWS_AS(store.end_attempt(begin(store, run.id), ended_as(RunState::running)),
                  AssertionError);
  CHECK_THROWS_AS(store.end_attempt(12345, ended_as(RunState::finished)), AssertionError);
}

TEST_CASE("the supervisor marks a run interrupted only while an attempt is open") {
  TempFolder temp;
  const RunRecord run = make_run(1);
  Store store = make_store(temp.store(), {run});
  store.mark_interrupted(run.id, getpid(), "too early");
  CHECK(run_summaries(store, {run.id}).at(0).state == RunState::planned);
  begin(store, run.id);
  store.mark_interrupted(run.id, getpid(), "signal 9");
  CHECK(run_summaries(store, {run.id}).at(0).state == RunState::interrupted);
  CHECK(run_summaries(store, {run.id}).at(0).message == "signal 9");
  store.end_attempt(begin(store, run.id), ended_as(RunState::finished));
  store.mark_interrupted(run.id, getpid(), "too late");
  CHECK(run_summaries(store, {run.id}).at(0).state == RunState::finished);
}

TEST_CASE("the supervisor marks the attempt of its own worker only") {
  TempFolder temp;
  const RunRecord run = make_run(1);
  Store store = make_store(temp.store(), {run});
  const auto outcome = [&] { return run_detail(store, run.id).attempts.back().outcome; };
  begin(store, run.id);
  store.mark_interrupted(run.id, getpid() + 1, "another worker");
  CHECK(outcome().empty());
  store.mark_interrupted(run.id, getpid(), "signal 9");
  CHECK(outcome() == "interrupted");
  Lease elsewhere = Lease::of_this_process();
  elsewhere.host = "elsewhere";
  store.begin_attempt(run.id, elsewhere, {}, {}, {});
  store.mark_interrupted(run.id, getpid(), "another host's process");
  CHECK(outcome().empty());
}

TEST_CASE("the result of a run is that of its newest attempt alone") {
  TempFolder temp;
  const RunRecord run = make_run(1);
  Store store = make_store(temp.store(), {run});
  store.end_attempt(begin(store, run.id), full_result());
  CHECK(run_detail(store, run.id).result.has_value());
  begin(store, run.id);
  CHECK_FALSE(run_detail(store, run.id).result.has_value());
  store.mark_interrupted(run.id, getpid(), "signal 9");
  CHECK_FALSE(run_detail(store, run.id).result.has_value());
  store.end_attempt(begin(store, run.id), ended_as(RunState::failed));
  CHECK(run_detail(store, run.id).result->worker_digests.empty());
}

TEST_CASE("a known run takes over edited settings, unless a living process executes it") {
  TempFolder temp;
  RunRecord run = make_run(1);
  Store store = make_store(temp.store(), {run});
  const auto ask_with = [&](int every) {
    run.settings["checkpoint"]["every"] = every;
    run.plan["load"] = every;
    store.add_experiment(make_experiment(fmt::format("every {}", every)), {run});
  };
  const auto stored = [&] { return run_detail(store, run.id).settings["checkpoint"]["every"]; };
  ask_with(10);
  CHECK(stored() == 10);
  CHECK(run_detail(store, run.id).plan == run.plan);
  const std::int64_t attempt = begin(store, run.id);
  ask_with(20);
  CHECK(stored() == 10);
  store.end_attempt(attempt, ended_as(RunState::interrupted));
  ask_with(20);
  CHECK(stored() == 20);
  CHECK(list_runs(store).size() == 1);
}

TEST_CASE("an attempt that failed without a position keeps the progress it had reported") {
  TempFolder temp;
  const RunRecord run = make_run(1);
  Store store = make_store(temp.store(), {run});
  const std::int64_t attempt = begin(store, run.id);
  RunWriter(temp.store(), run.id, attempt).progress({70, 7, 0.5, 900});
  store.end_attempt(attempt, ended_as(RunState::failed));
  CHECK(run_summaries(store, {run.id}).at(0).progress.gradients == 70);
  CHECK(run_summaries(store, {run.id}).at(0).progress.bytes == 900);
}

TEST_CASE("a new attempt supersedes what earlier ones recorded") {
  TempFolder temp;
  const RunRecord run = make_run(1);
  Store store = make_store(temp.store(), {run});
  for (int attempt_number = 1; attempt_number <= 3; ++attempt_number) {
    const std::int64_t attempt = begin(store, run.id);
    CHECK(read_series(store, run.id).empty());
    CHECK(run_summaries(store, {run.id}).at(0).metrics.empty());
    RunWriter writer(temp.store(), run.id, attempt);
    for (int step = 1; step <= 3; ++step) {
      const Value value{"train_loss", kWholeRun, 10.0 * attempt_number + step};
      writer.sample({step, 1.0 * step, 0.1 * step, 0}, {&value, 1});
    }
    writer.flush();
    store.end_attempt(attempt, ended_as(RunState::interrupted));
  }
  const auto series = read_series(store, run.id);
  REQUIRE(series.size() == 1);
  REQUIRE(series[0].points.size() == 3);
  CHECK(series[0].points[0].value == 31);
  CHECK(run_summaries(store, {run.id}).at(0).metrics.at("train_loss") == 33);
}

TEST_CASE("the end of an attempt and a verification wait for a locked store, however long") {
  TempFolder temp;
  const RunRecord run = make_run(1);
  Store store = make_store(temp.store(), {run});
  const std::int64_t attempt = begin(store, run.id);
  store.impl().connection().set_busy_timeout(0.01);
  const sqlite::Connection other(temp.store() + "/store.db", "", sqlite::Connection::Mode::write);
  const auto waits = [&](const auto& work) {
    sqlite::Transaction lock(other, sqlite::Transaction::Kind::write);
    auto done = std::async(std::launch::async, work);
    CHECK(done.wait_for(std::chrono::milliseconds(100)) == std::future_status::timeout);
    lock.commit();
    done.get();
  };
  waits([&] { store.end_attempt(attempt, full_result()); });
  CHECK(run_summaries(store, {run.id}).at(0).state == RunState::finished);
  waits([&] { store.add_verification(run.id, {}); });
  CHECK(run_detail(store, run.id).verifications.size() == 1);
}

TEST_CASE("unknown states are refused with the known ones") {
  CHECK(state_from_name("diverged") == RunState::diverged);
  CHECK(state_name(RunState::interrupted) == "interrupted");
  CHECK_THROWS_WITH(state_from_name("done"), ContainsSubstring("planned, running"));
}

TEST_CASE(
    "an experiment that is named keeps its name and labels when a newer one shares its runs") {
  TempFolder temp;
  RunRecord shared = make_run(1), first_only = make_run(2), second_only = make_run(3);
  Store store(temp.store(), Store::Access::write);
  shared.label = "theirs";
  store.add_experiment(make_experiment("first"), {shared, first_only});
  shared.label = "ours";
  store.add_experiment(make_experiment("second"), {second_only, shared, first_only});

  const auto first = runs_as_asked(store, resolve_runs(store, {"first"}));
  REQUIRE(first.size() == 2);
  for (const RunSummary& run : first) CHECK(run.experiment_name == "first");
  CHECK(first[0].label == "theirs");
  CHECK(experiment_of(store, first[0]).name == "first");
  const auto both = runs_as_asked(store, resolve_runs(store, {"first", "second"}));
  REQUIRE(both.size() == 3);
  CHECK(both[0].experiment_name == "first");  // the first that is named
  CHECK(both[0].label == "theirs");
  CHECK(both[2].experiment_name == "second");
  CHECK(runs_as_asked(store, {shared.id}).front().label == "ours");  // as in a list
  CHECK(runs_as_asked(store, {}).empty());
}

TEST_CASE("an experiment named by its id is that one, also where another has the same runs") {
  TempFolder temp;
  const RunRecord run = make_run(1);
  Store store(temp.store(), Store::Access::write);
  ExperimentRecord plain = make_experiment("plain"), margin = make_experiment("margin");
  margin.comparison = {{"primary", "eval_loss"}};
  store.add_experiment(plain, {run});
  store.end_attempt(begin(store, run.id), full_result());
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));  // times are in seconds
  store.add_experiment(margin, {run});
  for (const ExperimentRecord& one : {plain, margin}) {
    const auto seen = runs_as_asked(store, resolve_runs(store, {one.id}));
    REQUIRE(seen.size() == 1);
    CHECK(seen[0].experiment == one.id);
    CHECK(experiment_of(store, seen[0]).comparison == one.comparison);
  }
  CHECK(resolve_runs(store, {run.id}).experiments.empty());
  // Returns what the earlier experiment said about comparing, since its run had ended by then.
  CHECK(comparisons_before(store, margin.id) == std::vector{nlohmann::json()});
  CHECK(comparisons_before(store, plain.id).empty());
}

}  // namespace
}  // namespace acid

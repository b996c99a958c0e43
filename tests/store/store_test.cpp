// Everything written into a store can be read back, and attempts follow their rules.
#include <chrono>
#include <cmath>
#include <future>

#include "store/experiment_id.hpp"
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
  ScratchFolder temp;
  ExperimentRecord experiment = make_experiment(kHostile);
  experiment.overrides = {"optimizer.learning_rate=0.1", kHostile};
  experiment.command_line = "acid run " + kHostile;
  RunRecord run = make_run((1ULL << 63) - 1, "a2cid2");
  run.label = std::string(5000, 'x') + kHostile;
  run.settings["note"] = kHostile;
  run.plan["eta"] = 0.1;
  Store store(temp.store(), Store::Access::write);
  store.add_experiment(experiment, {run});

  const ExperimentRecord same =
      experiment_of(store, run_summaries(store, {run.id}).front().experiment);
  const auto facts = [](const ExperimentRecord& of) {
    return std::tuple(of.id, of.name, of.recipe_path, of.recipe_text, of.recipe_digest,
                      of.overrides, of.command_line);
  };
  CHECK(facts(same) == facts(experiment));
  const RunDetail detail = run_detail(store, run.id);
  const RunSummary& read = detail.summary;
  CHECK(std::tie(read.label, read.algorithm, read.seed, read.digest, read.group, read.driver,
                 read.topology, read.workers, read.budget_gradients) ==
        std::tie(run.label, run.algorithm, run.seed, run.digest, run.group, run.driver,
                 run.topology, run.workers, run.budget_gradients));
  CHECK((read.algorithm == "a2cid2" && read.driver == "virtual" && read.workers == 4));
  CHECK((read.experiment == experiment.id && read.experiment_name == kHostile));
  CHECK(read.state == RunState::planned);
  CHECK((read.started.empty() && detail.attempts.empty() && !detail.result));
  CHECK(detail.settings == run.settings);
  CHECK(detail.plan == run.plan);
}

TEST_CASE("an attempt and its result read back as they were written") {
  OneRun f;
  const nlohmann::json environment = {{"cpu", kHostile}, {"cores", 2}};
  const nlohmann::json seeds = {{"init", {{"0", 18446744073709551615ULL}}}};
  const std::vector<std::pair<std::string, std::string>> files{{"b.bin", "1"}, {kHostile, "2"}};
  const Lease lease = Lease::of_this_process();
  const std::vector<std::vector<std::int64_t>> holdings{{3, 0, 1}, {0, 2, 2}};
  const std::int64_t attempt = f.store.begin_attempt(f.run.id, lease, environment, seeds, files,
                                                     std::nullopt, std::nullopt, holdings);
  CHECK(f.detail().summary.state == RunState::running);
  CHECK(f.detail().holdings == holdings);
  CHECK(f.detail().attempts.at(0).outcome.empty());

  const AttemptResult wanted = full_result();
  f.store.end_attempt(attempt, wanted);
  const RunDetail detail = f.detail();
  CHECK(detail.summary.state == RunState::finished);
  CHECK(detail.summary.message == kHostile);
  CHECK(detail.summary.progress.gradients == 1234);
  CHECK(detail.summary.finished >= detail.summary.started);
  CHECK(detail.seeds == seeds);
  CHECK(detail.file_digests == files);
  REQUIRE(detail.attempts.size() == 1);
  const AttemptRow& first = detail.attempts[0];
  CHECK((first.number == 1 && first.host == lease.host && first.pid == lease.pid));
  CHECK(first.environment == environment);
  CHECK((first.outcome == "finished" && first.wall_seconds >= 0));

  REQUIRE(detail.result.has_value());
  const AttemptResult& result = *detail.result;
  const auto facts = [](const AttemptResult& of) {
    return std::tuple(of.message, of.position.normalised_time, of.position.seconds,
                      of.position.bytes, of.worker_digests, of.mean_digest, of.realised_rate,
                      of.realised_chi1, of.realised_chi2, of.exchanges_drawn, of.exchanges_done,
                      of.exchanges_waiting, of.worker_gradients, of.worker_idle_seconds,
                      of.staleness);
  };
  CHECK(facts(result) == facts(wanted));
  REQUIRE(result.edges.size() == 3);
  CHECK(std::tuple(result.edges[2].i, result.edges[2].j, result.edges[2].nominal,
                   result.edges[2].count) == std::tuple(2, 3, 1e-9, 1LL << 33));
  const std::vector<std::vector<Span>> spans = read_spans(f.store, f.run.id);
  REQUIRE(spans.size() >= 3);
  for (std::size_t w = 0; w < spans.size(); ++w) {
    REQUIRE(spans[w].size() == (w < 3 ? wanted.worker_spans[w].size() : 0));
    for (std::size_t k = 0; k < spans[w].size(); ++k) {
      const Span &read = spans[w][k], &span = wanted.worker_spans[w][k];
      CHECK(std::tie(read.kind, read.begin, read.end) == std::tie(span.kind, span.begin, span.end));
    }
  }
  REQUIRE(result.artifacts.size() == 2);
  CHECK(result.artifacts[0].role == "final-mean");
  CHECK(result.artifacts[0].bytes == 4096);
  CHECK(result.artifacts[1].path == kHostile);
}

TEST_CASE("text that is not UTF-8 does not stop a run from being recorded") {
  OneRun f;
  const std::int64_t attempt = f.store.begin_attempt(
      f.run.id, Lease::of_this_process(), {{"PATH", "\xff\xfe/bin"}}, nullptr, {{"\xc3.bin", "1"}});
  AttemptResult result = ended_as(RunState::failed);
  result.message = "bad byte \x80";
  f.store.end_attempt(attempt, result);
  CHECK(f.detail().summary.message == result.message);
  CHECK(f.detail().file_digests.at(0).first == "\xc3.bin");
}

TEST_CASE("runs are shared between experiments by digest") {
  ScratchFolder temp;
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
  CHECK(experiment_of(store, run_summaries(store, {shared.id}).front().experiment).name ==
        "second");
  CHECK(experiment_of(store, run_summaries(store, {first_only.id}).front().experiment).name ==
        "first");
}

TEST_CASE("asking for an experiment again makes it the newest and keeps its runs' results") {
  ScratchFolder temp;
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
  OneRun f;
  const auto state = [&] { return f.summary().state; };
  CHECK(state() == RunState::planned);
  for (const RunState outcome :
       {RunState::failed, RunState::diverged, RunState::interrupted, RunState::finished}) {
    const std::int64_t attempt = f.begin();
    CHECK(state() == RunState::running);
    f.store.end_attempt(attempt, ended_as(outcome));
    CHECK(state() == outcome);
  }
  CHECK(f.detail().attempts.back().number == 4);
  CHECK_THROWS_AS(f.store.end_attempt(f.begin(), ended_as(RunState::running)), AssertionError);
  CHECK_THROWS_AS(f.store.end_attempt(12345, ended_as(RunState::finished)), AssertionError);
}

TEST_CASE(
    "the supervisor marks a run interrupted only while an attempt of its own worker is open") {
  OneRun f;
  f.store.mark_interrupted(f.run.id, getpid(), "too early");
  CHECK(f.summary().state == RunState::planned);
  f.begin();
  f.store.mark_interrupted(f.run.id, getpid() + 1, "another worker");
  CHECK(f.detail().attempts.back().outcome.empty());
  f.store.mark_interrupted(f.run.id, getpid(), "signal 9");
  CHECK(f.summary().state == RunState::interrupted);
  CHECK(f.summary().message == "signal 9");
  f.store.end_attempt(f.begin(), ended_as(RunState::finished));
  f.store.mark_interrupted(f.run.id, getpid(), "too late");
  CHECK(f.summary().state == RunState::finished);
  f.begin(lease_elsewhere());
  f.store.mark_interrupted(f.run.id, getpid(), "another host's process");
  CHECK(f.detail().attempts.back().outcome.empty());
}

TEST_CASE("the result of a run is that of its newest attempt alone") {
  OneRun f;
  f.store.end_attempt(f.begin(), full_result());
  CHECK(f.detail().result.has_value());
  f.begin();
  CHECK_FALSE(f.detail().result.has_value());
  f.store.mark_interrupted(f.run.id, getpid(), "signal 9");
  CHECK_FALSE(f.detail().result.has_value());
  f.store.end_attempt(f.begin(), ended_as(RunState::failed));
  CHECK(f.detail().result->worker_digests.empty());
}

TEST_CASE("a known run takes over edited settings, unless a living process executes it") {
  OneRun f;
  const auto ask_with = [&](int every) {
    f.run.settings["checkpoint"]["every"] = every;
    f.run.plan["load"] = every;
    f.store.add_experiment(make_experiment(fmt::format("every {}", every)), {f.run});
  };
  const auto stored = [&] { return f.detail().settings["checkpoint"]["every"]; };
  ask_with(10);
  CHECK(stored() == 10);
  CHECK(f.detail().plan == f.run.plan);
  const std::int64_t attempt = f.begin();
  ask_with(20);
  CHECK(stored() == 10);
  f.store.end_attempt(attempt, ended_as(RunState::interrupted));
  ask_with(20);
  CHECK(stored() == 20);
  CHECK(list_runs(f.store).size() == 1);
}

TEST_CASE("an attempt that failed without a position keeps the progress it had reported") {
  OneRun f;
  const std::int64_t attempt = f.begin();
  RunWriter(f.temp.store(), f.run.id, attempt).progress({70, 7, 0.5, 900});
  f.store.end_attempt(attempt, ended_as(RunState::failed));
  CHECK(f.summary().progress.gradients == 70);
  CHECK(f.summary().progress.bytes == 900);
}

TEST_CASE("the end of an attempt and a verification wait for a locked store, however long") {
  OneRun f;
  const std::int64_t attempt = f.begin();
  f.store.impl().connection().set_busy_timeout(0.01);
  const sqlite::Connection other(f.temp.store() + "/store.db", "", sqlite::Connection::Mode::write);
  const auto waits = [&](const auto& work) {
    sqlite::Transaction lock(other, sqlite::Transaction::Kind::write);
    auto done = std::async(std::launch::async, work);
    CHECK(done.wait_for(std::chrono::milliseconds(100)) == std::future_status::timeout);
    lock.commit();
    done.get();
  };
  waits([&] { f.store.end_attempt(attempt, full_result()); });
  CHECK(f.summary().state == RunState::finished);
  waits([&] { f.store.add_verification(f.run.id, {}); });
  CHECK(f.detail().verifications.size() == 1);
}

TEST_CASE("unknown states are refused with the known ones") {
  CHECK(state_from_name("diverged") == RunState::diverged);
  CHECK(state_name(RunState::interrupted) == "interrupted");
  CHECK_THROWS_WITH(state_from_name("done"), ContainsSubstring("planned, running"));
}

TEST_CASE(
    "an experiment that is named keeps its name and labels when a newer one shares its runs") {
  ScratchFolder temp;
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
  CHECK(experiment_of(store, first[0].experiment).name == "first");
  const auto both = runs_as_asked(store, resolve_runs(store, {"first", "second"}));
  REQUIRE(both.size() == 3);
  CHECK(both[0].experiment_name == "first");  // the first that is named
  CHECK(both[0].label == "theirs");
  CHECK(both[2].experiment_name == "second");
  CHECK(runs_as_asked(store, {shared.id}).front().label == "ours");  // as in a list
  CHECK(runs_as_asked(store, {}).empty());
  // Conditions and lists see the same labels.
  CHECK(runs_where(store, resolve_runs(store, {"first"}), {"label = 'theirs'"}).ids ==
        std::vector{shared.id});
  CHECK_THROWS_AS(runs_where(store, resolve_runs(store, {"first"}), {"label = 'ours'"}),
                  UsageError);
  RunFilter filter;
  filter.ids = resolve_runs(store, {"first"}).ids;
  CHECK(list_runs(store, filter).size() == 2);
  filter.experiments = resolve_runs(store, {"first"}).experiments;
  for (const RunSummary& run : list_runs(store, filter)) CHECK(run.experiment_name == "first");
}

TEST_CASE("what an experiment compares is so for it where a newer one only tried it") {
  ScratchFolder temp;
  RunRecord run = make_run(1);
  Store store(temp.store(), Store::Access::write);
  store.add_experiment(make_experiment("compared"), {run});
  run.is_search = true;
  store.add_experiment(make_experiment("tried"), {run, make_run(2)});
  for (const auto& [name, search] : {std::pair("compared", false), std::pair("tried", true)}) {
    INFO(name);
    const AskedRuns asked = resolve_runs(store, {name});
    CHECK(runs_as_asked(store, asked).front().is_search == search);
    CHECK(runs_where(store, asked, {fmt::format("role = '{}'", search ? "search" : "")})
              .ids.front() == (search ? run.id : asked.ids.front()));
  }
}

std::vector<std::string> digests_of(const std::vector<RunRecord>& runs) {
  std::vector<std::string> digests;
  for (const RunRecord& run : runs) digests.push_back(run.digest);
  return digests;
}

TEST_CASE("an experiment keeps its id, and other runs of its recipe have one of their own") {
  const ScratchFolder temp;
  const ExperimentRecord experiment = make_experiment("test");
  Store store = make_store(temp.store(), {make_run(1), make_run(2)});
  const auto id = [&](const std::vector<RunRecord>& runs) {
    return id_in(store, experiment, digests_of(runs), false);
  };
  CHECK(id({make_run(1), make_run(2)}) == experiment.id);
  CHECK(id({make_run(2), make_run(1), make_run(3)}) == experiment.id);
  const std::string other = id({make_run(1), make_run(3)});
  CHECK(other != experiment.id);
  CHECK(other == id({make_run(3), make_run(1)}));
  CHECK(other != id({make_run(3), make_run(4)}));
  // They keep it when the first ones have gone.
  ExperimentRecord second = experiment;
  second.id = other;
  store.add_experiment(second, {make_run(1), make_run(3)});
  execute(store, "DELETE FROM experiments WHERE id = '" + experiment.id + "'");
  CHECK(id({make_run(1), make_run(3)}) == other);
}

TEST_CASE("a search's experiment keeps its id while it finds out what to try") {
  const ScratchFolder temp;
  const ExperimentRecord experiment = make_experiment("test");
  const auto tried = [](std::uint64_t seed) {
    RunRecord run = make_run(seed);
    run.is_search = true;
    return run;
  };
  const Store store = make_store(temp.store(), {tried(1), tried(2), tried(3), make_run(4)});
  CHECK(id_in(store, experiment, digests_of({tried(1), tried(2)}), true) == experiment.id);
  CHECK(id_in(store, experiment, digests_of({tried(1), tried(5)}), true) != experiment.id);
  execute(store, "DELETE FROM experiment_runs WHERE position = 0");
  CHECK(id_in(store, experiment, digests_of({tried(1), tried(2)}), true) ==
        experiment.id);  // 1 was removed
}

TEST_CASE("an experiment named by its id is that one, also where another has the same runs") {
  ScratchFolder temp;
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
    CHECK(experiment_of(store, seen[0].experiment).comparison == one.comparison);
  }
  CHECK(resolve_runs(store, {run.id}).experiments.empty());
  // Returns what the earlier experiment said about comparing, since its run had ended by then.
  CHECK(comparisons_before(store, margin.id) == std::vector{nlohmann::json()});
  CHECK(comparisons_before(store, plain.id).empty());
}

}  // namespace
}  // namespace acid

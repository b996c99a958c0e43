// Finding runs by name, and the views for users' own queries.
#include "store/queries.hpp"

#include <fmt/format.h>

#include "engine/recorder/metrics.hpp"
#include "store/impl.hpp"
#include "tests/catch.hpp"
#include "tests/kept_table.hpp"
#include "tests/store/fixture.hpp"

namespace acid {
namespace {

using namespace test;

RunRecord run_with_id(const std::string& id) {
  RunRecord run = make_run(1);
  run.id = id;
  run.digest = id + std::string(64 - id.size(), '0');
  return run;
}

ExperimentRecord experiment_with_id(const std::string& id, const std::string& name) {
  ExperimentRecord experiment = make_experiment(name);
  experiment.id = id;
  return experiment;
}

struct Names {
  ScratchFolder temp;
  Store store{temp.store(), Store::Access::write};
  Names() {
    store.add_experiment(experiment_with_id("eee000000000", "ring-16"),
                         {run_with_id("aaa111111111"), run_with_id("aaa222222222")});
    store.add_experiment(experiment_with_id("fff000000000", "one"), {run_with_id("bbb333333333")});
    store.add_experiment(experiment_with_id("eef000000000", "ring-16"),
                         {run_with_id("ccc444444444"), run_with_id("aaa111111111")});
  }
};

using Ids = std::vector<std::string>;

TEST_CASE("runs are found by prefix, experiment and @latest") {
  const Names names;
  const Store& store = names.store;
  CHECK(resolve_runs(store, {"aaa2"}).ids == Ids{"aaa222222222"});
  CHECK(resolve_runs(store, {"aaa222222222"}).ids == Ids{"aaa222222222"});
  CHECK(resolve_runs(store, {"eee"}).ids == Ids{"aaa111111111", "aaa222222222"});
  CHECK(resolve_runs(store, {"ring-16"}).ids == Ids{"ccc444444444", "aaa111111111"});
  CHECK(resolve_runs(store, {"one"}).ids == Ids{"bbb333333333"});
  CHECK(resolve_runs(store, {"@latest"}).ids == Ids{"ccc444444444", "aaa111111111"});
  CHECK(resolve_runs(store, {}).ids == resolve_runs(store, {"@latest"}).ids);
  CHECK(resolve_runs(store, {"aaa2", "eee", "b", "b"}).ids ==
        Ids{"aaa222222222", "aaa111111111", "bbb333333333"});
}

TEST_CASE("experiments are listed newest first, with their own runs in order and how those are") {
  Names names;
  const std::int64_t attempt = begin(names.store, "aaa111111111");
  const auto experiments = list_experiments(names.store);
  REQUIRE(experiments.size() == 3);
  CHECK(experiments[0].id == "eef000000000");
  CHECK(experiments[0].name == "ring-16");
  CHECK(experiments[1].name == "one");
  CHECK(experiments[2].id == "eee000000000");
  for (const std::size_t k : {std::size_t{0}, std::size_t{2}}) {
    REQUIRE(experiments[k].runs.size() == 2);
    const std::size_t shared = k == 0 ? 1 : 0;
    CHECK(experiments[k].runs[shared].id == "aaa111111111");
    CHECK(experiments[k].runs[shared].state == RunState::running);
    CHECK(experiments[k].runs[1 - shared].state == RunState::planned);
    CHECK(experiments[k].runs[shared].experiment == experiments[k].id);
  }
  names.store.end_attempt(attempt, ended_as(RunState::finished));
  CHECK(list_experiments(names.store)[0].runs[1].state == RunState::finished);
}

TEST_CASE("a name that fits nothing or too much is refused with candidates") {
  const Names names;
  const Store& store = names.store;
  CHECK_THROWS_WITH(resolve_runs(store, {"aaa"}),
                    ContainsSubstring("aaa111111111") && ContainsSubstring("aaa222222222"));
  CHECK_THROWS_WITH(resolve_runs(store, {"ee"}),
                    ContainsSubstring("eee000000000") && ContainsSubstring("eef000000000"));
  CHECK_THROWS_WITH(resolve_runs(store, {"rign-16"}), ContainsSubstring("did you mean 'ring-16'"));
  CHECK_THROWS_AS(resolve_runs(store, {"aaa1", "zzz"}), UsageError);
  CHECK_THROWS_AS(resolve_runs(store, {""}), UsageError);
  CHECK_THROWS_AS(resolve_runs(store, {"%"}), UsageError);
  CHECK_THROWS_AS(resolve_run(store, "' OR 1=1 --"), UsageError);
}

TEST_CASE("one run is found by prefix, by an experiment of one run, and by @latest") {
  Names names;
  CHECK(resolve_run(names.store, "c") == "ccc444444444");
  CHECK(resolve_run(names.store, "one") == "bbb333333333");
  CHECK(resolve_run(names.store, "fff") == "bbb333333333");
  CHECK(resolve_run(names.store, "@latest") == "ccc444444444");
  CHECK_THROWS_WITH(resolve_run(names.store, "ring-16"), ContainsSubstring("one run is wanted"));
  usleep(2000);  // times have milliseconds
  begin(names.store, "aaa222222222");
  CHECK(resolve_run(names.store, "@latest") == "aaa222222222");
  CHECK(list_runs(names.store).front().id == "aaa222222222");
}

TEST_CASE("summaries come in the order asked for, and an empty store has no latest run") {
  const auto runs = run_summaries(Names().store, {"bbb333333333", "aaa111111111"});
  REQUIRE(runs.size() == 2);
  CHECK((runs[0].id == "bbb333333333" && runs[1].id == "aaa111111111"));
  ScratchFolder temp;
  const Store store(temp.store(), Store::Access::write);
  CHECK(list_runs(store).empty());
  CHECK_THROWS_AS(resolve_runs(store, {}), UsageError);
  CHECK_THROWS_AS(resolve_run(store, "@latest"), UsageError);
  CHECK_THROWS_AS(run_detail(store, "x"), UsageError);
  CHECK(run_summaries(store, {}).empty());
}

struct Recorded : OneRun {
  Recorded() {
    const std::int64_t attempt = store.begin_attempt(
        run.id, Lease::of_this_process(), {{"cpu", "x"}},
        {{"init", 9}, {"workers", {{"data_order", {7, 18446744073709551615ULL}}}}},
        {{"data.bin", "d"}});
    RunWriter writer(temp.store(), run.id, attempt);
    sample(writer, {4, 1.0, 0.5, 100},
           {{"train_loss_at_mean", kWholeRun, 2.0}, {"staleness", 1, 3.0}});
    sample(writer, {8, 2.0, 1.0, 200}, {{"train_loss_at_mean", kWholeRun, kNaN}});
    writer.note(Severity::error, "text");
    writer.flush();
    AttemptResult result;
    result.position = {8, 2.0, 1.0, 200};
    result.worker_digests = {"w0", "w1"};
    result.mean_digest = "m";
    result.edges = {{0, 1, 0.5, 3}};
    store.end_attempt(attempt, result);
  }
};

TEST_CASE("series are read by metric, and of the whole run alone") {
  const Recorded recorded;
  CHECK(recorded.series().size() == 2);
  CHECK(recorded.series("staleness").size() == 1);
  CHECK(recorded.series("", true).size() == 1);
  CHECK(recorded.series("staleness", true).empty());
  CHECK(read_series(recorded.store, "unknown").empty());
  CHECK(recorded.series("staleness")[0].points[0].position.bytes == 100);
}

TEST_CASE("SCHEMA.md says what every metric is") {
  std::string table = "| metric | unit | better | what |\n|---|---|---|---|\n";
  for (const Metric& metric : kMetrics)
    table += fmt::format("| `{}` | {} | {} | {} |\n", metric.name, metric.unit,
                         metric.better > 0   ? "higher"
                         : metric.better < 0 ? "lower"
                                             : "–",
                         metric.meaning);
  check_kept_table(SOURCE_ROOT "/store/SCHEMA.md", table, "\nThe consensus mean");
}

TEST_CASE("the views of SCHEMA.md answer with friendly names") {
  const Recorded recorded;
  const Store& store = recorded.store;
  const std::string& id = recorded.run.id;
  CHECK(rows(store, "metric,worker,unit,gradients,normalised_time,seconds,bytes,value,special",
             "points_view WHERE run = '" + id + "' ORDER BY gradients, metric") ==
        "staleness|1|updates|4|1.0|0.5|100|3.0|0\n"
        "train_loss_at_mean||1|4|1.0|0.5|100|2.0|0\n"
        "train_loss_at_mean||1|8|2.0|1.0|200||1\n");
  CHECK(rows(store,
             "id,experiment_name,algorithm,label,seed,state,driver,topology,workers,gradients",
             "run_list") == id + "|test|ad-psgd|ad-psgd|1|finished|virtual|ring|4|8\n");
  CHECK(rows(store, "attempt,state,gradients,superseded,environment", "attempt_list") ==
        "1|finished|8|0|{\"cpu\":\"x\"}\n");
  CHECK(rows(store, "name,position,run,label", "experiment_list") == "test|0|" + id + "|ad-psgd\n");
  CHECK(
      rows(store, "metric,worker,count,last,best,best_gradients", "series_list ORDER BY metric") ==
      "staleness|1|1|3.0|3.0|4\ntrain_loss_at_mean||2||2.0|4\n");
  CHECK(rows(store, "i,j,nominal_rate,exchanges,realised_rate", "edge_list") == "0|1|0.5|3|1.5\n");
  CHECK(rows(store, "worker,digest", "digest_list") == "0|w0\n1|w1\n|m\n");
  CHECK(rows(store, "severity,text", "log_list") == "error|text\n");
  execute(store, "PRAGMA trusted_schema = ON");  // the default of other programs
  CHECK(rows(store, "stream,worker,value", "seed_list ORDER BY stream, worker") ==
        "data_order|0|7\ndata_order|1|18446744073709551615\ninit||9\n");
}

}  // namespace
}  // namespace acid

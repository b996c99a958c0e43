// RunFilter: what people ask for, and what they must not be able to do.
#include <set>

#include "tests/catch.hpp"
#include "tests/store/fixture.hpp"

namespace acid {
namespace {

using namespace test;

std::size_t count_where(const Store& store, std::vector<std::string> where) {
  RunFilter filter;
  filter.where = std::move(where);
  return list_runs(store, filter).size();
}

struct Runs {
  ScratchFolder temp;
  Store store{temp.store(), Store::Access::write};
  Runs() {
    std::vector<RunRecord> runs;
    for (std::uint64_t seed = 1; seed <= 6; ++seed)
      runs.push_back(make_run(seed, seed % 2 == 1 ? "ad-psgd" : "a2cid2"));
    store.add_experiment(make_experiment("six"), runs);
    const std::int64_t attempt = begin(store, runs[0].id);
    const Value accuracy{"eval_accuracy", kWholeRun, 0.9};
    RunWriter(temp.store(), runs[0].id, attempt).sample({1, 0, 0, 0}, {&accuracy, 1});
    store.end_attempt(attempt, ended_as(RunState::finished));
    begin(store, runs[1].id);
  }
  std::size_t count(const std::string& where) const { return count_where(store, {where}); }
};

TEST_CASE("runs are filtered by state, algorithm and id") {
  const Runs runs;
  RunFilter filter;
  filter.state = RunState::finished;
  CHECK(list_runs(runs.store, filter).size() == 1);
  filter.state = RunState::planned;
  CHECK(list_runs(runs.store, filter).size() == 4);
  filter.algorithm = "a2cid2";
  CHECK(list_runs(runs.store, filter).size() == 2);
  filter.ids = {make_run(4, "a2cid2").id, "unknown"};
  CHECK(list_runs(runs.store, filter).size() == 1);
}

TEST_CASE("a where expression sees columns, states without quotes and settings by dotted keys") {
  const Runs runs;
  for (const auto& [where, count] : std::initializer_list<std::pair<const char*, std::size_t>>{
           {"1", 6},
           {"seed > 2 AND algorithm = 'ad-psgd'", 2},
           {"state = 'running'", 1},
           {"state IN ('planned', 'finished')", 5},
           {"settings ->> '$.algorithm.kind' = 'a2cid2'", 3},
           {"metrics ->> 'eval_accuracy' > 0.8", 1},
           {"plan ->> 'chi1' = 1.5 OR label LIKE '%;--%'", 6},
           {"(seed) = (SELECT max(seed) FROM run_list)", 1},
           {"started IS NOT NULL", 2},
           {"state = finished", 1},
           {"state = \"finished\" AND finished IS NOT NULL", 1},
           {"NOT state=='running' AND state IN (Planned, 'finished', running)", 5},
           {"label = 'state = finished'", 0},
           {"state || finished LIKE 'finished2%'", 1},  // the column
           {"state IS NOT planned AND started <= finished", 1},
           {"algorithm.kind = 'a2cid2'", 3},
           {"algorithm.kind = a2cid2", 3},
           {"algorithm.kind=ad-psgd AND seed > 2", 2},
           {"algorithm.kind = \"ad-psgd\"", 3},
           {"algorithm.kind IN (ad-psgd, a2cid2)", 6},
           {"NOT algorithm.kind IS ad-psgd", 3},
           {"algorithm.kind IS NOT NULL AND algorithm.kind LIKE 'ad%'", 3},
           {"algorithm.kind = algorithm.kind", 6},
           {"algorithm = ad-psgd", 3},         // a column, and a word that is none
           {"started = finished", 0},          // both are
           {"algorithm.kind = algorithm", 0},  // text beside a setting
           {"length(algorithm.kind) BETWEEN 6 AND 6", 3},
           {"(SELECT max(r.seed) FROM run_list r) = 6", 6}}) {
    INFO(where);
    CHECK(runs.count(where) == count);
  }
}

TEST_CASE("several where expressions hold together") {
  const Runs runs;
  CHECK(count_where(runs.store, {}) == 6);
  CHECK(count_where(runs.store, {"algorithm.kind=ad-psgd", "seed = 1 OR seed = 2"}) == 1);
  CHECK_THROWS_AS(count_where(runs.store, {"1", "nope"}), UsageError);
  CHECK(runs_where(runs.store, resolve_runs(runs.store, {"six"}), {"seed > 4"}).ids ==
        std::vector{make_run(5).id, make_run(6, "a2cid2").id});
  try {
    runs_where(runs.store, resolve_runs(runs.store, {"six"}), {"seed=7", "workers > 1"});
    FAIL("some run was found");
  } catch (const UsageError& error) {
    CHECK_THAT(error.what(), ContainsSubstring("none of the 6 runs has seed=7 and workers > 1: "));
  }
}

TEST_CASE("a setting of a where expression that no run has is refused, with the nearest") {
  Runs runs;
  for (const char* wrong : {"algorithm.kynd = ring", "algorithm.kind.name = 1", "seed.kind = 1"})
    CHECK_THROWS_WITH(runs.count(wrong), ContainsSubstring("no run here has a setting '"));
  CHECK_THROWS_WITH(runs.count("algorithm.kynd = ring"),
                    ContainsSubstring("did you mean 'algorithm.kind'?"));
  CHECK_THROWS_AS(runs.count("algoritm.kind = ring"), UsageError);
  // Afterwards the store can be used as before.
  runs.store.add_experiment(make_experiment("more"), {make_run(99)});
  CHECK(list_runs(runs.store).size() == 7);
}

TEST_CASE("a name in double quotes is a name, and beside a name or LIKE it is text") {
  const Runs runs;
  CHECK(runs.count("\"seed\" = 1") == 1);
  CHECK(runs.count("\"algorithm.kind\" = ad-psgd") == 3);
  CHECK(runs.count("algorithm = \"ad-psgd\"") == 3);
  CHECK(runs.count("algorithm LIKE \"ad%\" AND algorithm NOT GLOB \"a2*\"") == 3);
  for (const auto& [wrong, says] :
       {std::pair("\"x\" = 1", "no such column: x;"),
        {"\"sed\" = 1", "no such column: sed (did you mean 'seed'?)"},
        {"algoritm.kind = ring", "no such column: algoritm.kind (did you mean 'algorithm.kind'?)"},
        {"\"algorithm.kynd\" = 1", "did you mean 'algorithm.kind'?"},
        {"seed IN (1) AND \"y\" IS NULL", "no such column: y"}})
    CHECK_THROWS_WITH(runs.count(wrong), ContainsSubstring(says));
}

TEST_CASE("empty lists, lists, numbers and truth values of settings are compared with") {
  ScratchFolder temp;
  RunRecord run = make_run(1);
  run.settings["task"] = {{"hidden", {16, 32}},
                          {"none", nlohmann::json::array()},
                          {"rate", 0.05},
                          {"nesterov", true},
                          {"file", "/data/a9a.txt"}};
  const Store store = make_store(temp.store(), {run});
  for (const char* right :
       {"task.hidden=[16,32]", "task.hidden = [16, 32]", "task.none=none", "task.rate=0.05",
        "task.rate = 5e-2 AND task.rate < .1", "task.nesterov=true", "task.file=/data/a9a.txt",
        "task.file IN (x, /data/a9a.txt)", "task.rate / 2 = 0.025", "task.rate IN (1, 0.05)",
        "task.rate = .05", "task.rate IN (.05, 1)", "task.rate != .1"}) {
    INFO(right);
    CHECK(count_where(store, {right}) == 1);
  }
  for (const char* other :
       {"task.hidden=[16]", "task.hidden=none", "task.rate=0.1", "task.nesterov=false"}) {
    INFO(other);
    CHECK(count_where(store, {other}) == 0);
  }
}

TEST_CASE("beside a setting, a word is a column after < and > and in a function") {
  ScratchFolder temp;
  RunRecord run = make_run(1);  // with 4 workers
  run.settings["task"] = {{"size", 7}, {"kind", "mlp"}};
  const Store store = make_store(temp.store(), {run});
  const auto count = [&](const std::string& where) { return count_where(store, {where}); };
  for (const char* right :
       {"task.size > workers", "task.size >= workers", "NOT task.size < workers",
        "NOT task.size<=workers", "workers < task.size", "max(task.size, seed) = 7",
        "task.size IN (3, max(workers, 7), 5)", "task.size > .5", "task.kind <> workers",
        "task.kind IN (max(seed, workers), mlp)", "task.kind NOT IN (seed, workers)",
        "task.kind IS NOT seed"}) {
    INFO(right);
    CHECK(count(right) == 1);
  }
  CHECK(count("task.size < workers") == 0);
  CHECK(count("task.size < .5") == 0);
  for (const char* wrong : {"task.size > workrs", "max(task.size, workrs) > 1", "seed < workrs",
                            "task.size IN (1, max(2, workrs))", "task.size = (workrs)"})
    CHECK_THROWS_WITH(count(wrong), ContainsSubstring("no such column: workrs"));
}

TEST_CASE("a run without a graph stands beside those of every graph that is asked for") {
  ScratchFolder temp;
  std::vector<RunRecord> runs;
  for (const char* graph : {"ring", "torus", ""}) {
    RunRecord run = make_run(runs.size() + 1);
    run.settings["topology"] = nullptr;
    if (*graph != '\0') run.settings["topology"] = {{"kind", graph}, {"rows", 2 * runs.size()}};
    runs.push_back(run);
  }
  const Store store = make_store(temp.store(), runs);
  const auto seeds = [&](std::vector<std::string> where, std::vector<std::string> ids = {}) {
    RunFilter filter;
    filter.where = std::move(where);
    filter.ids = std::move(ids);
    std::set<std::uint64_t> found;
    for (const RunSummary& run : list_runs(store, filter)) found.insert(run.seed);
    return found;
  };
  using Seeds = std::set<std::uint64_t>;
  CHECK(seeds({"topology.kind=ring"}) == Seeds{1, 3});
  CHECK(seeds({"topology.kind=torus", "topology.rows=2"}) == Seeds{2, 3});
  CHECK(seeds({"topology.kind=ring", "topology.rows=2"}) == Seeds{});  // of no one graph
  CHECK(seeds({"topology.kind=star"}) == Seeds{});
  CHECK(seeds({"topology.kind IS NULL"}) == Seeds{3});
  CHECK(seeds({"NOT topology.kind = ring"}) == Seeds{2, 3});
  CHECK(seeds({"topology.kind=ring"}, {runs[1].id, runs[2].id}) == Seeds{});
}

TEST_CASE("conditions on thousands of runs are answered at once, also in a named experiment") {
  const ScratchFolder temp;
  constexpr std::uint64_t kRuns = 4000;
  std::vector<RunRecord> runs;
  for (std::uint64_t seed = 1; seed <= kRuns; ++seed) runs.push_back(make_run(seed));
  Store store(temp.store(), Store::Access::write);
  store.add_experiment(make_experiment("many"), runs);
  CHECK(count_where(store, {"seed > 10"}) == kRuns - 10);
  CHECK(runs_where(store, resolve_runs(store, {"many"}), {"seed > 10"}).ids.size() == kRuns - 10);
}

TEST_CASE("a where expression that takes too much is refused, and the next one is answered") {
  const Runs runs;
  const auto refusal = [&](const std::string& greedy) {
    try {
      return "answered: " + std::to_string(runs.count(greedy));
    } catch (const UsageError& error) {
      return std::string(error.what());
    }
  };
  CHECK_THAT(refusal("length(randomblob(900000000)) > 1"), ContainsSubstring("256 MiB of memory"));
  CHECK_THAT(refusal("length(replace(hex(zeroblob(30000000)), '0', 'xxxxxxxxxxxx')) > 1"),
             ContainsSubstring("256 MiB of memory"));
  std::string many = "(SELECT count(*) FROM run_list a";
  for (char name = 'b'; name <= 'n'; ++name) many += std::string(", run_list ") + name;
  CHECK_THAT(refusal(many + ") > 1"), ContainsSubstring("longer than 5 s"));
  CHECK(runs.count("1") == 6);
}

TEST_CASE("a where expression that is wrong is the user's error and lists the columns") {
  const Runs runs;
  for (const char* wrong :
       {"stat = 'finished'", "seed >", "seed = 'x", "seed) OR (1", "(seed", "1; DELETE FROM runs",
        "1 -- ", "1 /* ", "1) UNION SELECT id FROM runs WHERE (1", "nonsense(1)", "seed = ?1",
        "seed, seed", "abs(-9223372036854775808)", "algorithm.kind = ring) OR (1",
        "algorithm.kind = a--b", "algorithm.kind = a/*b", "algorithm.kind ="}) {
    CHECK_THROWS_AS(runs.count(wrong), UsageError);
    CHECK_THROWS_WITH(runs.count(wrong), ContainsSubstring("cannot filter runs by") &&
                                             ContainsSubstring(wrong) &&
                                             ContainsSubstring("budget_gradients"));
  }
  // None can write, attach or change settings.
  for (const char* wrong : {"(WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x FROM r) "
                            "SELECT count(*) FROM r)",
                            "load_extension('x')", "(SELECT 1 FROM pragma_user_version(1))"})
    CHECK_THROWS_AS(runs.count(wrong), UsageError);
  CHECK(runs.count("1") == 6);
}

}  // namespace
}  // namespace acid

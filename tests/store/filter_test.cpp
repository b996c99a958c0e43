// RunFilter: typical expressions, and expressions that must be refused.
#include "tests/catch.hpp"
#include "tests/store/fixture.hpp"

namespace acid {
namespace {

using namespace test;

struct Runs {
  TempFolder temp;
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
  std::size_t count(const std::string& where) const {
    RunFilter filter;
    filter.where = where;
    return list_runs(store, filter).size();
  }
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

TEST_CASE("a where expression sees the columns of run_list") {
  const Runs runs;
  CHECK(runs.count("1") == 6);
  CHECK(runs.count("seed > 2 AND algorithm = 'ad-psgd'") == 2);
  CHECK(runs.count("state = 'running'") == 1);
  CHECK(runs.count("state IN ('planned', 'finished')") == 5);
  CHECK(runs.count("settings ->> '$.algorithm.kind' = 'a2cid2'") == 3);
  CHECK(runs.count("metrics ->> 'eval_accuracy' > 0.8") == 1);
  CHECK(runs.count("plan ->> 'chi1' = 1.5 OR label LIKE '%;--%'") == 6);
  CHECK(runs.count("(seed) = (SELECT max(seed) FROM run_list)") == 1);
  CHECK(runs.count("started IS NOT NULL") == 2);
}

TEST_CASE("a state in a where expression is the state, also without quotes") {
  const Runs runs;
  CHECK(runs.count("state = finished") == 1);
  CHECK(runs.count("state = \"finished\" AND finished IS NOT NULL") == 1);
  CHECK(runs.count("NOT state=='running' AND state IN (Planned, 'finished', running)") == 5);
  CHECK(runs.count("label = 'state = finished'") == 0);
  CHECK(runs.count("state || finished LIKE 'finished2%'") == 1);  // the column
  CHECK(runs.count("state IS NOT planned AND started <= finished") == 1);
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
        "seed, seed", "abs(-9223372036854775808)"}) {
    INFO(wrong);
    try {
      runs.count(wrong);
      FAIL("accepted");
    } catch (const UsageError& error) {
      CHECK_THAT(error.what(), ContainsSubstring("cannot filter runs by") &&
                                   ContainsSubstring(wrong) &&
                                   ContainsSubstring("budget_gradients"));
    }
  }
  CHECK(list_runs(runs.store).size() == 6);
}

TEST_CASE("a where expression cannot write, attach or change settings") {
  const Runs runs;
  for (const char* wrong : {"(WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x FROM r) "
                            "SELECT count(*) FROM r)",
                            "load_extension('x')", "(SELECT 1 FROM pragma_user_version(1))"}) {
    INFO(wrong);
    CHECK_THROWS_AS(runs.count(wrong), UsageError);
  }
  CHECK(runs.count("1") == 6);
}

TEST_CASE("the store can be used as before after a filter was refused") {
  Runs runs;
  CHECK_THROWS_AS(runs.count("nope"), UsageError);
  runs.store.add_experiment(make_experiment("more"), {make_run(99)});
  CHECK(list_runs(runs.store).size() == 7);
}

}  // namespace
}  // namespace acid

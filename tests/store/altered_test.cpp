// An altered store: every value is checked where it is read.
#include <algorithm>
#include <fstream>

#include "store/maintenance.hpp"
#include "store/open.hpp"
#include "store/schema.hpp"
#include "tests/catch.hpp"
#include "tests/store/fixture.hpp"
#include "tests/store/story.hpp"

namespace acid {
namespace {

using namespace test;

struct Altered {
  ScratchFolder temp;
  RunRecord run = make_run(1);
  Altered() {
    Store store = make_store(temp.store(), {run});
    const std::int64_t attempt = begin(store, run.id);
    {
      RunWriter writer(temp.store(), run.id, attempt);
      sample(writer, {10, 2.5, 1, 100}, {{"eval_loss", kWholeRun, 0.5}});
    }
    AttemptResult result = ended_as(RunState::finished);
    result.position = {10, 2.5, 1, 100};
    result.worker_digests = {"a", "b", "c", "d"};
    result.worker_gradients = {1, 2, 3, 4};
    result.edges = {{0, 1, 0.5, 3}};
    result.staleness = {1, 2};
    std::ofstream(temp.store() + "/checkpoints/x") << "abc";
    result.artifacts = {{"final-mean", "checkpoints/x", sha256_hex(std::string_view("abc")), 3}};
    store.end_attempt(attempt, result);
  }
  void with(const std::string& sql) const {
    raw_connection(temp.store()).execute("PRAGMA foreign_keys = OFF; " + sql);
  }
  /// The error of reading everything of the run.
  std::string complaint() const {
    try {
      const Store store(temp.store(), Store::Access::read);
      const std::string id = list_runs(store).at(0).id;
      run_detail(store, id);
      read_series(store, id);
      read_spans(store, id);
      read_events(store, id);
      experiment_of(store, list_runs(store).at(0).experiment);
      return "nothing";
    } catch (const StoreError& error) {
      return error.what();
    }
  }
};

TEST_CASE("a value that acid does not write is an error that names its column and its row") {
  const std::vector<std::pair<std::string, std::string>> alterations{
      {"UPDATE runs SET workers = -3", "workers of run "},
      {"UPDATE runs SET workers = 4294967296", "workers of run "},
      {"UPDATE runs SET budget_gradients = -1", "budget_gradients of run "},
      {"UPDATE runs SET settings = '[]'", "settings of run "},
      {"UPDATE runs SET plan = '255'", "plan of run "},
      {"UPDATE runs SET settings = 'x'", "no JSON object"},
      {"UPDATE attempts SET number = -1", "an attempt of run "},
      {"UPDATE attempts SET environment = '[]'", "environment of attempt 1"},
      {"UPDATE attempts SET changed = '1'", "changed of attempt 1"},
      {"UPDATE attempts SET seeds = '[1]'", "seeds of run "},
      {"UPDATE attempts SET gradients = -1", "gradients of run "},
      {"UPDATE attempts SET bytes = -1", "bytes of run "},
      {"UPDATE results SET staleness = '{}'", "staleness of run "},
      {"UPDATE results SET staleness = '[-1]'", "no list of counts"},
      {"UPDATE results SET exchanges_done = -1", "exchanges_done of run "},
      {"UPDATE worker_results SET gradients = -1", "gradients of run "},
      {"INSERT INTO holdings VALUES (1, 0, 3, '[1, 1]')", "examples of run "},
      {"INSERT INTO holdings VALUES (1, 1, 2, '[1, 1]')", "worker of run "},
      {"INSERT INTO holdings VALUES (1, 0, 0, '[]')", "classes of run "},
      {"INSERT INTO holdings VALUES (1, 0, 1, NULL), (1, 1, 2, '[1, 1]')", "classes of run "},
      {"UPDATE edges SET j = 4294967296", "j of run "},
      {"UPDATE artifacts SET bytes = -1", "bytes of run "},
      {"UPDATE series SET count = 9223372036854775807", "count of series "},
      {"UPDATE series SET worker = 4294967296", "worker of series "},
      {"UPDATE ticks SET gradients = -1", "sample 1 of attempt 1"},
      {"UPDATE experiments SET overrides = '255'", "overrides of experiment "},
      {"UPDATE experiments SET overrides = '[1]'", "no list of texts"},
  };
  for (const auto& [sql, words] : alterations) {
    INFO(sql);
    const Altered altered;
    CHECK(altered.complaint() == "nothing");
    CHECK(inspect_store(Store(altered.temp.store(), Store::Access::read)).empty());
    altered.with(sql);
    CHECK_THAT(altered.complaint(), ContainsSubstring(words) && ContainsSubstring("is damaged"));
    CHECK_FALSE(inspect_store(Store(altered.temp.store(), Store::Access::read)).empty());
  }
}

TEST_CASE("a count that is not so takes no memory, and statistics of SQLite's are no alteration") {
  const Altered altered;
  altered.with("UPDATE series SET count = 1000000000000");
  CHECK(altered.complaint() == "nothing");
  const Altered analysed;
  analysed.with("ANALYZE");
  CHECK(analysed.complaint() == "nothing");
  const Store store(analysed.temp.store(), Store::Access::write);
  // The digest of the newest schema is known, so that opening a store costs no time.
  CHECK(schema_digest(store.impl().connection()) == newest_schema_digest());
}

TEST_CASE("a run's id that is none is refused, for it names a folder") {
  for (const char* id : {"../../victim/zz", "", "0123456789AB", "0123456789abc", "/tmp/12345678"}) {
    const Altered altered;
    altered.with(fmt::format("UPDATE runs SET id = '{}'", id));
    INFO(id);
    CHECK_THAT(altered.complaint(), ContainsSubstring("id of a run is '" + std::string(id) + "'"));
    const Store store(altered.temp.store(), Store::Access::read);
    const auto findings = inspect_store(store);
    CHECK(std::any_of(findings.begin(), findings.end(), [](const StoreFinding& each) {
      return each.what.find("id of a run is") != std::string::npos;
    }));
  }
}

TEST_CASE("a run that is asked for under an id that another digest has is refused") {
  const Altered altered;
  altered.with("UPDATE runs SET digest = 'null'");
  Store store(altered.temp.store(), Store::Access::write);
  CHECK_THROWS_WITH(store.add_experiment(make_experiment("again"), {altered.run}),
                    ContainsSubstring("contradict each other"));
}

TEST_CASE("a store whose schema is not acid's is refused by every command, and not changed") {
  const std::vector<std::pair<std::string, std::string>> alterations{
      {"CREATE TRIGGER t AFTER INSERT ON attempts BEGIN DELETE FROM points; END",
       "holds the trigger 't', which acid did not make"},
      {"CREATE VIEW mine AS SELECT 1", "holds the view 'mine', which acid did not make"},
      {"CREATE TABLE mine (x)", "holds the table 'mine', which acid did not make"},
      {"CREATE INDEX mine ON runs (seed)", "holds the index 'mine', which acid did not make"},
      {"DROP VIEW log_list", "has lost its view 'log_list'"},
      {"DROP TABLE points", "has lost its table 'points'"},
      {"DROP INDEX log_by_attempt", "has lost its index 'log_by_attempt'"},
      {"ALTER TABLE runs ADD COLUMN mine TEXT",
       "holds the table 'runs' in another form than acid makes it"},
      {"DROP VIEW run_list; CREATE VIEW run_list AS WITH RECURSIVE c (x) AS"
       " (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c",
       "holds the view 'run_list' in another form than acid makes it"},
      {"PRAGMA user_version = -2147483648", "says that it has schema -2147483648"},
      {"PRAGMA user_version = -1", "says that it has schema -1"},
  };
  for (const auto& [sql, words] : alterations)
    for (const auto access : {Store::Access::read, Store::Access::write}) {
      INFO(sql);
      const Altered altered;
      altered.with(sql);
      CHECK_THAT(error_of(altered.temp.store(), access),
                 ContainsSubstring(words) && ContainsSubstring("nothing was changed"));
    }
}

TEST_CASE("a store that says it is older than it is is not migrated") {
  for (const int version : {0, 1, 2, 3, 8}) {
    const Altered altered;
    altered.with(fmt::format("PRAGMA user_version = {}", version));
    for (const auto access : {Store::Access::read, Store::Access::write})
      CHECK_THAT(error_of(altered.temp.store(), access),
                 ContainsSubstring("the database was altered outside acid"));
  }
}

}  // namespace
}  // namespace acid

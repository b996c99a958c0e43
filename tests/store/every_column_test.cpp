// Every column of every table: each change is found and cancels "verified". The program
// scripts/alterations does the same to stores of real runs.
#include <filesystem>
#include <fstream>
#include <map>

#include "store/maintenance.hpp"
#include "store/tags.hpp"
#include "tests/catch.hpp"
#include "tests/store/story.hpp"

namespace acid::test {
namespace {

/// Columns that are not shown anywhere, and why. All other columns have a seal.
const std::map<std::string, std::string> kNotShown{
    {"attempts.heartbeat", "a lease's last sign of life"},
    {"artifacts.removed", "a copy writes it; the files tell"},
    {"checkpoints.removed", "acid gc writes it; the files tell"},
    {"log.id", "an order, which stays"},
    {"store_seal.one", "there is one"},
    {"verifications.id", "an order, which stays"},
};

/// Tags and notes are no part of what was verified. They have a seal of their own.
bool is_of_tags(const std::string& table, const std::string& column) {
  return table == "tags" || table == "notes" || (table == "store_seal" && column == "tags");
}

/// A store with a row in every table: a run of two attempts that was verified, in an experiment
/// with a search, and a run that its search tried.
struct FullStory : Story {
  FullStory() {
    RunRecord tried = make_run(2);
    tried.is_search = true;
    ExperimentRecord experiment = make_experiment("full");
    experiment.search = {{"tried", 1}};
    experiment.comparison = {{"primary", "eval_loss"}};
    store.add_experiment(experiment, {run, tried});
    const std::vector<PredictedValue> values{{"seconds", {}, 2, 1, 3, {1.5, 2.5}},
                                             {"eval_loss", 1.5, 0.5, 0.25, 0.75, {0.5, 0.5}}};
    REQUIRE(store.add_predictions({{run.id, experiment.id, values}}) == 1);
    begin();
    steps(1, 4);
    checkpoint(2);
    kill();
    const std::int64_t attempt =
        store.begin_attempt(run.id, dead_lease(), {{"host", "here"}}, {{"init", 5}},
                            {{"data.bin", "d"}}, from(1), std::nullopt, {{1, 2}, {3, 4}});
    {
      RunWriter again(temp.store(), run.id, attempt);
      sample(again, at(3), {{"train_loss_at_mean", kWholeRun, 1.5}, {"staleness", 1, kNaN}});
      again.note(Severity::warning, "its processes are not equal");
    }
    AttemptResult result = result_of_four();
    std::filesystem::create_directories(temp.store() + "/checkpoints/run");
    for (const CheckpointRow& row : checkpoints_of(store, run.id))
      std::ofstream(temp.store() + "/" + row.path) << "x";
    execute(fmt::format("UPDATE checkpoints SET file_bytes = 1, sha256 = '{}'", sha256_hex("x")));
    std::ofstream(temp.store() + "/checkpoints/run/mean") << "mean";
    result.artifacts = {{"final-mean", "checkpoints/run/mean", sha256_hex("mean"), 4}};
    store.end_attempt(attempt, result);
    store.add_verification(run.id, verified("all"));
    change_tags(store, {{run.id}, {experiment.id}}, {{"final"}, {}, "a note"});
  }
};

class Altering {
 public:
  Altering() {
    namespace fs = std::filesystem;
    FullStory story;
    id_ = story.run.id;
    execute(story.store, "PRAGMA wal_checkpoint(TRUNCATE)");
    fs::copy(story.temp.store(), temp_.store(), fs::copy_options::recursive);
    fs::copy_file(database(), temp_.path() + "/sound.db");
  }
  std::string database() const { return temp_.store() + "/store.db"; }
  /// Every table, with its columns and their types.
  std::map<std::string, std::vector<std::pair<std::string, std::string>>> tables() const {
    const sqlite::Connection db(database(), "", sqlite::Connection::Mode::read);
    sqlite::Statement select(db,
                             "SELECT t.name, c.name, c.type FROM sqlite_schema t,"
                             " pragma_table_info(t.name) c WHERE t.type = 'table'"
                             " AND t.name NOT LIKE 'sqlite%'");
    std::map<std::string, std::vector<std::pair<std::string, std::string>>> all;
    while (select.step()) all[select.text(0)].emplace_back(select.text(1), select.text(2));
    return all;
  }
  /// Executes the statement; returns whether it changes anything.
  bool with(const std::string& sql) const {
    std::filesystem::copy_file(temp_.path() + "/sound.db", database(),
                               std::filesystem::copy_options::overwrite_existing);
    const sqlite::Connection db(database(), "", sqlite::Connection::Mode::write);
    db.execute(
        "PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; PRAGMA foreign_keys = OFF;"
        "PRAGMA ignore_check_constraints = ON");
    try {
      db.execute(sql);
    } catch (const StoreError&) {  // SQLite itself refuses the statement
      return false;
    }
    return db.changes() > 0;
  }
  bool found() const { return !inspect_store(Store(temp_.store(), Store::Access::read)).empty(); }
  bool verified() const {
    try {
      const Store store(temp_.store(), Store::Access::read);
      RunDetail run = run_detail(store, id_);
      look_at_files(store, run);
      const VerificationRow* const last = decisive_verification(run);
      return last != nullptr && last->equal && last->altered.empty();
    } catch (const Error&) {
      return false;
    }
  }
  const std::string& id() const { return id_; }
  std::string folder() const { return temp_.store(); }

 private:
  ScratchFolder temp_;
  std::string id_;
};

}  // namespace

TEST_CASE(
    "what is changed in any column that anything shows is found, and nothing stays verified") {
  const Altering store;
  REQUIRE(store.with("UPDATE attempts SET heartbeat = 'x'"));
  CHECK_FALSE(store.found());
  CHECK(store.verified());
  std::size_t alterations = 0;
  bool of_tags = false;
  const auto check = [&](const std::string& sql) {
    if (!store.with(sql)) return;
    ++alterations;
    INFO(sql);
    CHECK(store.found());
    CHECK(store.verified() == of_tags);
  };
  const std::map<std::string, std::string> changed{{"INTEGER", "coalesce({0}, 0) + 1"},
                                                   {"REAL", "coalesce({0}, 0) + 1e-9"},
                                                   {"TEXT", "coalesce({0}, '') || 'x'"},
                                                   {"BLOB", "CAST(X'01' || {0} AS BLOB)"}};
  for (const auto& [table, columns] : store.tables()) {
    REQUIRE(store.with(fmt::format("DELETE FROM {}", table)));  // every table has a row
    CHECK(store.found());
    for (const auto& [column, type] : columns) {
      if (kNotShown.contains(table + "." + column)) continue;
      of_tags = is_of_tags(table, column);
      // Each value is replaced by one that differs a little, by NULL, and by its neighbour's.
      check(fmt::format(fmt::runtime("UPDATE {1} SET {0} = " + changed.at(type)), column, table));
      check(fmt::format("UPDATE {1} SET {0} = NULL WHERE {0} NOTNULL", column, table));
    }
    of_tags = is_of_tags(table, "");
    for (std::size_t i = 0; i + 1 < columns.size(); ++i)
      if (columns[i].second == "TEXT" && columns[i + 1].second == "TEXT")
        check(fmt::format("UPDATE {0} SET {1} = {1} || char(10) || {2}, {2} = '' WHERE {2} <> ''",
                          table, columns[i].first, columns[i + 1].first));
  }
  CHECK(alterations > 200);
}

TEST_CASE("beside an altered file of a checkpoint or a model no run is called verified") {
  const Altering store;
  namespace fs = std::filesystem;
  for (const auto& entry : fs::recursive_directory_iterator(store.folder() + "/checkpoints")) {
    if (!entry.is_regular_file()) continue;
    const std::string path = entry.path().string();
    std::string was;
    std::ifstream(path) >> was;
    INFO(path);
    CHECK(store.verified());
    for (const std::string& altered : {std::string(was.size(), '#'), was + "#", std::string()}) {
      std::ofstream(path) << altered;
      CHECK(store.found());
      CHECK_FALSE(store.verified());
    }
    fs::remove(path);
    CHECK(store.found());
    CHECK(store.verified());  // its digest exists and still proves the same
    std::ofstream(store.folder() + "/elsewhere") << was;
    fs::create_symlink(store.folder() + "/elsewhere", path);
    CHECK(store.found());
    CHECK_FALSE(store.verified());
    fs::remove(path);
    std::ofstream(path) << was;
  }
  CHECK_FALSE(store.found());
}

}  // namespace acid::test

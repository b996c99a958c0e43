#include "store/maintenance.hpp"
#include "store/open.hpp"
#include "store/proof.hpp"
#include "store/rows.hpp"
#include "tests/catch.hpp"
#include "tests/store/fixture.hpp"

namespace acid::test {
namespace {

const std::vector<PredictedValue> kValues{{"seconds", {}, 2, 1, 3, {1.5, 2.5}},
                                          {"eval_loss", 1.5, 0.1, 0.0, 0.2, {0.1}}};

}  // namespace

TEST_CASE("a prediction is stored before its run begins, or not at all") {
  OneRun one;
  CHECK_FALSE(prediction_of(one.store, one.run.id));
  CHECK(one.store.add_predictions({{"000000000000", "", kValues}}) == 0);
  CHECK(one.store.add_predictions({{one.run.id, "abcdefabcdef", kValues}}) == 1);
  // The first one stays, though another would fit better.
  CHECK(one.store.add_predictions({{one.run.id, "", {{"seconds", {}, 9, 9, 9, {9}}}}}) == 0);
  const std::int64_t attempt = one.begin();
  one.store.end_attempt(attempt, ended_as(RunState::finished));
  const RunPrediction stored = prediction_of(one.store, one.run.id).value();
  CHECK(stored.experiment == "abcdefabcdef");
  CHECK_FALSE(stored.is_late);
  CHECK_FALSE(stored.is_altered);
  REQUIRE(stored.values.size() == 2);
  CHECK(stored.values[0].quantity == "seconds");
  CHECK_FALSE(stored.values[0].normalised_time);
  CHECK(stored.values[0].draws == std::vector{1.5, 2.5});
  CHECK(stored.values[1].normalised_time == 1.5);
  CHECK(stored.values[1].high == 0.2);
  CHECK(inspect_store(one.store).empty());
  CHECK(number(one.store, "SELECT count(*) FROM prediction_list") == 2);

  // The second run begins twice, the first and the third never.
  const ScratchFolder temp;
  const std::vector<RunRecord> runs{make_run(1), make_run(2), make_run(3)};
  Store store = make_store(temp.store(), runs);
  for (int attempts = 0; attempts < 2; ++attempts)
    store.end_attempt(begin(store, runs[1].id), ended_as(RunState::failed));
  CHECK(store.add_predictions(
            {{runs[1].id, "", kValues}, {runs[2].id, "", kValues}, {runs[0].id, "", kValues}}) ==
        2);
  CHECK_FALSE(prediction_of(store, runs[1].id));
  CHECK(prediction_of(store, runs[0].id));
}

TEST_CASE("a prediction that was written into a store later is found out") {
  const OneRun one;
  Store store(one.temp.store(), Store::Access::write);
  const std::int64_t attempt = begin(store, one.run.id);
  one.execute("INSERT INTO predictions VALUES (1, '2999-01-01T00:00:00.000Z', NULL)");
  CHECK(prediction_of(store, one.run.id).value().is_late);
  one.execute("DELETE FROM predictions");
  store.end_attempt(attempt, ended_as(RunState::finished));
  CHECK(inspect_store(store).empty());
  // A date before the run deceives the eye, not the seal.
  one.execute("INSERT INTO predictions VALUES (1, '1999-01-01T00:00:00.000Z', NULL)");
  CHECK_FALSE(prediction_of(store, one.run.id).value().is_late);
  CHECK(prediction_of(store, one.run.id).value().is_altered);
  REQUIRE(inspect_store(store).size() == 1);
  CHECK_THAT(altered_words(store, one.run.id).at(0), ContainsSubstring("its prediction is not"));
}

TEST_CASE("a store of version 9 gets a place for predictions, and its seals stay as they are") {
  const auto seals_after = [](const std::string& alteration) {
    const OneRun one;
    Store store(one.temp.store(), Store::Access::write);
    store.end_attempt(begin(store, one.run.id), ended_as(RunState::finished));
    const std::string folder = one.temp.path() + "/old";
    std::filesystem::create_directories(folder + "/checkpoints");
    {
      const sqlite::Connection old = raw_connection(folder);
      migrate(old, migrations().first(9));
      old.execute("PRAGMA foreign_keys = OFF");
      const sqlite::Connection& now = store.impl().connection();
      now.execute("UPDATE experiments SET first_asked = NULL");  // which later versions have
      seal_experiment(now, 1);
      now.execute("ALTER TABLE experiments DROP COLUMN first_asked");
      now.execute("ALTER TABLE artifacts DROP COLUMN removed");
      for (const std::string& table : tables_of(old)) copy_rows(now, old, table, "1", as_it_is);
      sqlite::Statement seal(now, "SELECT one, seal FROM store_seal");
      seal.step();
      sqlite::Statement(old, "INSERT INTO store_seal VALUES (?, ?)").bind_row(seal).run();
      old.execute(alteration);
    }
    const Store migrated(folder, Store::Access::write);
    CHECK(migrated.impl().connection().pragma("user_version") == std::ssize(migrations()));
    return inspect_store(migrated).size();
  };
  CHECK(seals_after("") == 0);
  CHECK(seals_after("UPDATE attempts SET message = 'x'") == 1);
}

}  // namespace acid::test

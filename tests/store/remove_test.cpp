// Runs and experiments that are removed, and tags and notes on them.
#include "store/remove.hpp"

#include <unistd.h>

#include <filesystem>

#include "store/at_work.hpp"
#include "store/hosts.hpp"
#include "store/proof.hpp"
#include "store/upkeep.hpp"
#include "tests/catch.hpp"
#include "tests/store/histories.hpp"

namespace acid {
namespace {

using namespace test;
namespace fs = std::filesystem;
using Ids = std::vector<std::string>;

/// Two experiments that share a run. All runs have finished.
struct Shared {
  Shared() {
    store.add_experiment(make_experiment("one"), {a, b});
    store.add_experiment(make_experiment("two"), {b, c});
    for (const RunRecord* run : {&a, &b, &c}) {
      Execution execution(store, run->id, 0);
      execution.work_to("cut", 3);
      execution.end(RunState::finished);
    }
  }
  Removal remove(const Named& named) {
    const Removal removal = find_removal(store, named);
    remove_from(store, named, removal);
    CHECK(unsound(store) == "");
    return removal;
  }
  ScratchFolder temp;
  RunRecord a = make_run(1), b = make_run(2), c = make_run(3);
  Store store = Store(temp.store(), Store::Access::write);
};

TEST_CASE("an experiment goes with its runs, but those that another one has stay") {
  Shared f;
  const Removal removal = f.remove(resolve_named(f.store, {"one"}));
  CHECK(removal.runs == Ids{f.a.id});
  CHECK(removal.attempts == 1);
  CHECK(removal.values == 6);
  CHECK(removal.events == 3);
  CHECK(removal.files.size() == 2);
  REQUIRE(removal.kept.size() == 1);
  CHECK(removal.kept[0].id == f.b.id);
  CHECK(removal.kept[0].experiments == Ids{make_experiment("two").id});
  CHECK(list_experiments(f.store).size() == 1);
  CHECK(list_runs(f.store).size() == 2);
  CHECK_FALSE(exists(f.temp.store(), "checkpoints/" + f.a.id));
  CHECK(exists(f.temp.store(), "checkpoints/" + f.b.id));
}

TEST_CASE("a run that is named goes out of all experiments, and one without runs goes, too") {
  Shared f;
  const Removal one = f.remove({{f.b.id}, {}});
  CHECK(one.experiments.empty());
  REQUIRE(one.taken_out.size() == 1);
  CHECK(one.taken_out[0].experiments.size() == 2);
  const Removal two = f.remove({{f.a.id}, {}});
  CHECK(two.emptied == Ids{make_experiment("one").id});
  CHECK(list_experiments(f.store).size() == 1);
  // The same again is a run as if it had never been.
  f.store.add_experiment(make_experiment("one"), {f.a});
  CHECK(run_summaries(f.store, {f.a.id})[0].state == RunState::planned);
  CHECK(unsound(f.store) == "");
}

TEST_CASE("a file that cannot be removed is left to gc, which the message says") {
  Shared f;
  const std::string run = f.temp.store() + "/checkpoints/" + f.a.id;
  fs::permissions(f.temp.path(), fs::perms(0755));
  fs::permissions(run, fs::perms(0555));
  for (const auto& entry : fs::directory_iterator(f.temp.store()))
    if (entry.is_regular_file()) fs::permissions(entry.path(), fs::perms(0666));
  const Named named = resolve_named(f.store, {"one"});
  const Removal removal = find_removal(f.store, named);
  const bool is_root = geteuid() == 0;
  if (is_root) REQUIRE(seteuid(65534) == 0);
  std::string told;
  try {
    remove_from(f.store, named, removal);
  } catch (const StoreError& error) {
    told = error.what();
  }
  if (is_root) REQUIRE(seteuid(0) == 0);
  CHECK_THAT(told,
             ContainsSubstring("the runs are removed already") && ContainsSubstring("acid gc"));
  CHECK(list_runs(f.store, {.ids = {f.a.id}}).empty());
  fs::permissions(run, fs::perms(0755));
}

TEST_CASE("what is altered stays altered beside what is removed") {
  Shared f;
  execute(f.store, "UPDATE experiments SET command_line = 'x' WHERE name = 'two'");
  const Named named{{f.b.id}, {}};
  remove_from(f.store, named, find_removal(f.store, named));
  CHECK_THAT(unsound(f.store), ContainsSubstring("the recipe of experiment"));
}

TEST_CASE("a run that is being executed is not removed, nor is anything after a change") {
  Shared f;
  const Named named{{f.a.id}, {}};
  const Removal before = find_removal(f.store, named);
  f.store.add_experiment(make_experiment("three"), {f.a});
  CHECK_THROWS_WITH(remove_from(f.store, named, before),
                    ContainsSubstring("has changed meanwhile"));
  begin(f.store, f.a.id);
  CHECK_THROWS_WITH(find_removal(f.store, named),
                    ContainsSubstring("executes run " + f.a.id) &&
                        ContainsSubstring(fmt::format("stop it with 'kill {}',", getpid())));
  CHECK(list_runs(f.store).size() == 3);
}

TEST_CASE("a process that comes back after its run was removed writes into no other run") {
  ScratchFolder temp;
  const RunRecord gone = make_run(1), other = make_run(2);
  Store store = make_store(temp.store(), {gone, other});
  Store held_up(temp.store(), Store::Access::write);
  const auto attempt = held_up.begin_attempt(gone.id, dead_lease(), {}, {}, {});
  RunWriter writer(temp.store(), gone.id, attempt);
  const Named named{{gone.id}, {}};
  remove_from(store, named, find_removal(store, named));
  const auto removed = ContainsSubstring("run " + gone.id + " was removed");
  CHECK_THROWS_WITH(held_up.end_attempt(attempt, ended_as(RunState::failed)), removed);
  REQUIRE(begin(store, other.id) == attempt);
  const auto records = [&] {
    writer.progress({5, 5, 5, 5});
    writer.flush();
  };
  CHECK_THROWS_WITH(records(), removed);
  CHECK_THROWS_WITH(held_up.end_attempt(attempt, ended_as(RunState::failed)), removed);
  CHECK_THROWS_WITH(RunWriter(temp.store(), gone.id, attempt), removed);
  const RunSummary left = run_summaries(store, {other.id}).at(0);
  CHECK(left.state == RunState::running);
  CHECK(left.progress.gradients == 0);
}

TEST_CASE("predictions stay when the experiment that they were made from goes") {
  ScratchFolder temp;
  Store store(temp.store(), Store::Access::write);
  store.add_experiment(make_experiment("simulated"), {make_run(1)});
  store.add_experiment(make_experiment("real"), {make_run(2)});
  const std::string simulated = make_experiment("simulated").id;
  store.add_predictions({{make_run(2).id, simulated, {{"seconds", {}, 2, 1, 3, {1.5}}}}});
  const Removal removal = find_removal(store, {{}, {simulated}});
  CHECK(removal.predictions == Ids{make_run(2).id});
  remove_from(store, {{}, {simulated}}, removal);
  CHECK(prediction_of(store, make_run(2).id)->experiment == simulated);
  const Named real{{}, {make_experiment("real").id}};
  remove_from(store, real, find_removal(store, real));
  CHECK(number(store, "SELECT count(*) FROM predicted_values") == 0);
  CHECK(unsound(store) == "");
}

TEST_CASE("tags and notes name runs and experiments, and belong to no run's proof") {
  Shared f;
  f.store.add_verification(f.a.id, verified("all"));
  const std::string one = make_experiment("one").id;
  change_tags(f.store, {{f.a.id}, {one}}, {{"final", "paper-2"}, {}, "look at its end"});
  CHECK(run_detail(f.store, f.a.id).verifications[0].altered == "");
  CHECK(unsound(f.store) == "");
  CHECK(run_summaries(f.store, {f.a.id})[0].tags == Ids{"final", "paper-2"});
  CHECK(run_detail(f.store, f.a.id).notes.at(0).text == "look at its end");
  CHECK(list_experiments(f.store)[1].tags == Ids{"final", "paper-2"});
  // By name, by condition, and after the experiment was asked for again.
  CHECK(resolve_runs(f.store, {"tag:final"}).ids == Ids{f.a.id, f.b.id});
  CHECK(list_runs(f.store, {{}, "", {has_tag("final")}, {}}).size() == 2);
  CHECK(list_runs(f.store, {{}, "", {"tags LIKE '%final%'"}, {}}).size() == 1);
  CHECK(list_runs(f.store, {{}, "", {has_tag("fina")}, {}}).empty());
  CHECK_THROWS_WITH(runs_where(f.store, {f.a.id}, {has_tag("fina"), "seed > 5"}),
                    ContainsSubstring("no run has the tag 'fina' and seed > 5:"));
  f.store.add_experiment(make_experiment("one"), {f.a, f.b});
  CHECK(list_experiments(f.store)[0].tags == Ids{"final", "paper-2"});
  CHECK(change_tags(f.store, {{f.a.id}, {}}, {{}, {"final", "none"}, {}}).removed == 1);
  CHECK(run_summaries(f.store, {f.a.id})[0].tags == Ids{"paper-2"});
  CHECK_THROWS_AS(resolve_named(f.store, {"tag:nonesuch"}), UsageError);
  for (const std::string& bad : Ids{"", "two words", "ü", "a*", std::string(41, 'a')})
    CHECK_THROWS_AS(change_tags(f.store, {{f.a.id}, {}}, {{bad}, {}, {}}), UsageError);
  // They are sealed for themselves, and go with what they are on.
  execute(f.store, "UPDATE tags SET tag = 'other' WHERE kind = 'run'");
  CHECK(unsound(f.store) == std::string(kBrokenTags) + "\n");
  CHECK(run_detail(f.store, f.a.id).verifications[0].altered == "");
  remove_from(f.store, {{f.a.id}, {one}}, find_removal(f.store, {{f.a.id}, {one}}));
  CHECK(number(f.store, "SELECT (SELECT count(*) FROM tags) + (SELECT count(*) FROM notes)") == 0);
}

TEST_CASE("an empty note removes the notes, and a note is a line without control characters") {
  Shared f;
  const Named named{{f.a.id}, {make_experiment("two").id}};
  CHECK(change_tags(f.store, named, {{"x"}, {}, "größer – 実験"}).notes == 2);
  std::vector<Tagged> all = tags_of(f.store, {{f.b.id, f.a.id}, named.experiments});
  REQUIRE(all.size() == 3);
  CHECK((all[0].kind == "run" && all[0].tags.empty() && all[0].notes.empty()));
  CHECK((all[1].id == f.a.id && all[1].tags == Ids{"x"} && all[1].name.empty()));
  CHECK((all[2].name == "two" && all[2].notes.at(0).text == "größer – 実験"));
  for (const std::string& bad :
       Ids{"a\tb", "two\nlines", "\x1b[2J", "\x7f", "\xc2\x9b", std::string(1, 0)})
    CHECK_THROWS_WITH(change_tags(f.store, named, {{"y"}, {}, bad}),
                      ContainsSubstring("control character"));
  CHECK(change_tags(f.store, named, {{}, {}, ""}).notes_removed == 2);
  CHECK(change_tags(f.store, named, {{}, {}, ""}).notes_removed == 0);
  all = tags_of(f.store, named);
  CHECK((all[0].notes.empty() && all[1].notes.empty() && all[1].tags == Ids{"x"}));
  CHECK(unsound(f.store) == "");
}

TEST_CASE("the runs of searches are those that an experiment's search tried") {
  Shared f;
  RunRecord tried = make_run(9);
  tried.is_search = true;
  f.store.add_experiment(make_experiment("three"), {f.a, tried});
  CHECK(runs_of_searches(f.store, {make_experiment("three").id}) == Ids{tried.id});
  CHECK(runs_of_searches(f.store, {make_experiment("one").id}).empty());
  CHECK(runs_of_searches(f.store, {}).empty());
}

/// Rows of 100 kB, every other one of which is deleted.
void fill_and_free(const std::string& folder, int rows) {
  const Store store(folder, Store::Access::write);
  const sqlite::Connection& connection = store.impl().connection();
  sqlite::Transaction transaction(connection, sqlite::Transaction::Kind::write);
  const std::string blob(100'000, 'x');
  for (int i = 1; i <= rows; ++i)
    sqlite::Statement(connection,
                      "INSERT INTO experiments VALUES (?, ?, ?, '', '', '', '', '', '', NULL,"
                      " NULL, NULL, NULL)")
        .bind(1000 + i, std::to_string(i), blob)
        .run();
  connection.execute("DELETE FROM experiments WHERE number > 1000 AND number % 2 = 0");
  transaction.commit();
}

TEST_CASE("a shared store gives no space back while a process executes runs of it") {
  ScratchFolder temp;
  share_among_hosts(temp.store());
  const RunRecord run = make_run(1);
  Store store = make_store(temp.store(), {run});
  fill_and_free(temp.store(), 100);
  sqlite::Connection& connection = store.impl().connection();
  const auto size = [&] { return fs::file_size(temp.store() + "/store.db"); };
  const auto before = size();
  const auto attempt = begin(store, run.id);
  CHECK_THAT(give_space_back(temp.store(), connection), ContainsSubstring("keeps its size"));
  store.end_attempt(attempt, ended_as(RunState::interrupted));
  {
    AtWork between_two_attempts(temp.store());
    between_two_attempts.on({run.id});
    CHECK_THAT(give_space_back(temp.store(), connection), ContainsSubstring("keeps its size"));
  }
  CHECK(size() == before);
  CHECK(give_space_back(temp.store(), connection) == "");
  CHECK(size() < before - 4'000'000);
}

}  // namespace
}  // namespace acid

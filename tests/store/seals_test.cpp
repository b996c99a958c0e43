// Changes of a store by hand: a verification no longer counts, and changed labels, recipes and
// settings are not accepted as acid's.
#include "store/copy_runs.hpp"
#include "store/maintenance.hpp"
#include "store/open.hpp"
#include "tests/catch.hpp"
#include "tests/store/story.hpp"

namespace acid::test {
namespace {

/// A finished run that was verified.
struct Verified : Story {
  Verified() {
    begin();
    steps(1, 4);
    checkpoint(2);
    writer().note(Severity::warning, "its processes are not equal");
    kill();
    store.end_attempt(attempt_id(), result_of_four());
    store.add_verification(run.id, verified("all"));
  }
  std::string altered() const { return run_detail(store, run.id).verifications.back().altered; }
  std::string altered_by(const std::string& sql) {
    execute(sql);
    return altered();
  }
};

std::vector<std::string> findings_in(const Store& store,
                                     const std::string& words = "as it was written") {
  std::vector<std::string> all;
  for (const StoreFinding& finding : inspect_store(store))
    if (finding.what.find(words) != std::string::npos) all.push_back(finding.what);
  return all;
}

}  // namespace

TEST_CASE("a verification counts as long as nothing of what it proved has changed, and no longer") {
  Verified story;
  CHECK(story.altered().empty());
  // A table, an assignment, its undoing, and what it is said to be of.
  for (const auto& [table, change, undo, found] : {
           std::tuple{"points", "value = value * 2", "value = value / 2",
                      "the record of its values"},
           std::tuple{"series", "last = last * 2, best = best * 2",
                      "last = last / 2, best = best / 2", "the record of its values"},
           std::tuple{"ticks", "seconds = seconds + 1 WHERE tick = 4",
                      "seconds = 0.4 WHERE tick = 4", "where its samples lie"},
           std::tuple{"event_chunks", "first = first + 1", "first = first - 1", "its event log"},
           std::tuple{"log", "text = 'fine ' || text", "text = substr(text, 6)", "its log"},
           std::tuple{"checkpoints", "last_tick = last_tick + 1", "last_tick = last_tick - 1",
                      "its checkpoints"},
           std::tuple{"results", "exchanges_drawn = 8", "exchanges_drawn = 7", "its results"},
           std::tuple{"edges", "exchanges = 4", "exchanges = 3", "its edges"},
           std::tuple{"worker_spans", "worker = 11 - worker", "worker = 11 - worker",
                      "its workers' time"},
           std::tuple{"attempts", "environment = '{\"host\":\"there\"}'",
                      "environment = '{\"host\":\"here\"}'", "its attempts"},
           std::tuple{"verifications", "message = message || ' of it'", "message = 'all'",
                      "its verifications"},
       }) {
    const std::string sql = fmt::format("UPDATE {} SET {}", table, change),
                      undone = fmt::format("UPDATE {} SET {}", table, undo);
    INFO(sql);
    CHECK_THAT(story.altered_by(sql),
               ContainsSubstring(found) && ContainsSubstring("is not as it was written"));
    CHECK(findings_in(story.store, found).size() == 1);
    CHECK(story.altered_by(undone).empty());
  }
  CHECK(findings_in(story.store).empty());
  // A missing seal or proof does not hold.
  CHECK_THAT(story.altered_by("UPDATE verifications SET proof = NULL"),
             ContainsSubstring("an earlier acid"));
  CHECK(findings_in(story.store).size() == 1);
  Verified other;
  CHECK_THAT(other.altered_by("UPDATE attempts SET seal = NULL"), ContainsSubstring("the seal"));
  CHECK(findings_in(other.store).size() == 1);
}

TEST_CASE("what acid itself changes later leaves a verification as it is") {
  Verified story;
  story.execute("UPDATE checkpoints SET removed = created");
  CHECK(story.altered().empty());
  RunRecord again = story.run;
  again.settings["checkpoint"] = {{"keep", 7}};  // its digest leaves this key out
  again.label = "other";
  story.store.add_experiment(make_experiment("another"), {again});
  CHECK(story.detail().settings == again.settings);
  CHECK(story.altered().empty());
  CHECK(findings_in(story.store).empty());
}

TEST_CASE("changed labels, recipes and settings are found, and named") {
  Verified story;
  const std::string& id = story.run.id;
  CHECK(altered_words(story.store, id).empty());
  for (const auto& [sql, undone, found] :
       {std::tuple{"UPDATE experiment_runs SET label = label || 'x'",
                   "UPDATE experiment_runs SET label = 'ad-psgd'", "the label of run"},
        std::tuple{"UPDATE experiments SET recipe_text = recipe_text || ' '",
                   "UPDATE experiments SET recipe_text = substr(recipe_text, 1,"
                   " length(recipe_text) - 1)",
                   "the recipe of experiment"},
        std::tuple{"UPDATE runs SET settings = settings || ' '",
                   "UPDATE runs SET settings = trim(settings)", "what was asked for"}}) {
    INFO(sql);
    CHECK_THAT(story.altered_by(sql), ContainsSubstring(found));
    const auto words = altered_words(story.store, id);
    REQUIRE(words.size() == 1);
    CHECK_THAT(words.front(), ContainsSubstring(found));
    const auto findings = findings_in(story.store);
    REQUIRE(findings.size() == 1);
    CHECK_THAT(findings.front(), ContainsSubstring(found));
    CHECK(story.altered_by(undone).empty());
  }
}

TEST_CASE("a run that leaves an experiment, and text that moves to the next column, are found") {
  for (const auto& [sql, found] :
       {std::pair{"DELETE FROM experiment_runs WHERE position = 1", "the list of its runs"},
        std::pair{"UPDATE experiments SET command_line = command_line || char(10) || search,"
                  " search = NULL",
                  "the recipe of experiment"},
        std::pair{"UPDATE experiments SET search = search || char(10, 10) || comparison,"
                  " comparison = NULL",
                  "the recipe of experiment"},
        std::pair{"UPDATE experiment_runs SET label = label || char(10) || role, role = ''"
                  " WHERE role <> ''",
                  "the label of run"},
        std::pair{"DELETE FROM experiments", "the list of experiments"},
        std::pair{"DELETE FROM store_seal", "the list of experiments"}}) {
    INFO(sql);
    const ScratchFolder temp;
    RunRecord tried = make_run(2), other = make_run(3);
    tried.is_search = true;
    Store store(temp.store(), Store::Access::write);
    ExperimentRecord experiment = make_experiment("searched");
    experiment.search = {{"tried", 1}};
    experiment.comparison = {{"primary", "eval_loss"}};
    store.add_experiment(experiment, {make_run(1), other, tried});
    for (const std::string& id : {make_run(1).id, other.id, tried.id}) {
      store.end_attempt(begin(store, id), ended_as(RunState::finished));
      store.add_verification(id, verified());
    }
    CHECK(inspect_store(store).empty());
    execute(store, sql);
    CHECK_FALSE(findings_in(store, found).empty());
    // Also for the run that is no longer in the experiment.
    std::string said;
    for (const std::string& id : {other.id, tried.id}) {
      const std::string one = run_detail(store, id).verifications.back().altered;
      CHECK((id != other.id || found == std::string("the label of run") || !one.empty()));
      said += one;
    }
    CHECK_THAT(said, ContainsSubstring("is not as it was written"));
    // What acid writes next does not make it sound, either.
    store.add_experiment(make_experiment("next"), {make_run(4)});
    CHECK_FALSE(findings_in(store, found).empty());
  }
}

TEST_CASE("a run that ended and was never verified is sealed, and one that was killed when it is") {
  Story story;
  story.begin();
  story.steps(1, 2);
  story.kill();
  CHECK(findings_in(story.store).empty());
  story.execute("UPDATE log SET text = 'x'");
  CHECK(findings_in(story.store).empty());
  SECTION("by its own end") {
    story.store.end_attempt(story.attempt_id(), ended_as(RunState::interrupted));
  }
  SECTION("by the one who repairs the store") { repair_store(story.store); }
  SECTION("by the one who verifies it") {
    story.store.add_verification(story.run.id, verified());
    repair_store(story.store);
  }
  CHECK(findings_in(story.store).empty());
  story.execute("UPDATE ticks SET seconds = seconds + 1 WHERE tick = 1");
  CHECK(findings_in(story.store).size() == 1);
  CHECK_THAT(altered_words(story.store, story.run.id).at(0), ContainsSubstring("samples lie"));
}

TEST_CASE("an attempt that was taken for gone goes on, and what it records then breaks no seal") {
  const bool only_ends = GENERATE(false, true);
  Story story;
  story.begin();
  // Its process cannot be seen from here, and is held up.
  const char* const held_up =
      "UPDATE attempts SET host = 'elsewhere', heartbeat = '2026-01-01T00:00:00.000Z'";
  story.steps(1, 2);
  story.writer().flush();
  SECTION("by the one who repairs the store") {
    story.execute(held_up);
    CHECK(repair_store(story.store).size() == 1);
  }
  SECTION("by the one who verifies it") {
    story.execute(held_up);
    story.store.add_verification(story.run.id, verified());
  }
  SECTION("by its supervisor") {
    story.execute(
        "UPDATE attempts SET process_start = process_start + 1");  // of the living process
    story.store.mark_interrupted(story.run.id, dead_lease().pid, "it was gone");
  }
  CHECK(number(story.store, "SELECT count(seal) FROM attempts") == 1);
  CHECK(findings_in(story.store).empty());
  if (only_ends) {
    story.store.end_attempt(story.attempt_id(), ended_as(RunState::finished));
    CHECK(inspect_store(story.store).empty());
    return;
  }
  story.steps(3, 4);
  story.writer().flush();
  CHECK(inspect_store(story.store).empty());
  CHECK(story.detail().summary.state == RunState::running);
  CHECK(story.detail().verifications.empty());
  CHECK_THROWS_WITH(story.OneRun::begin(), ContainsSubstring("is being executed"));
  story.check({1, 1, 1, 1});
  CHECK(number(story.store, "SELECT count(*) FROM log WHERE text LIKE 'it was taken for gone%'") ==
        1);
  story.store.end_attempt(story.attempt_id(), ended_as(RunState::finished));
  story.writer().progress(at(4));
  story.writer().flush();
  CHECK(story.detail().summary.state == RunState::finished);
  CHECK(inspect_store(story.store).empty());
}

TEST_CASE("what was altered stays altered when acid changes other rows") {
  Verified story;
  story.execute("UPDATE log SET text = 'x'; UPDATE verifications SET host = 'y'");
  story.store.add_verification(story.run.id, verified());
  CHECK(findings_in(story.store, "its log").size() == 1);
  CHECK(findings_in(story.store, "its verifications").size() == 1);
}

TEST_CASE("a copy of some runs has seals of what it has, and none for what was altered before") {
  const ScratchFolder temp;
  Store store(temp.store(), Store::Access::write);
  const std::vector<RunRecord> runs{make_run(1), make_run(2), make_run(3)};
  store.add_experiment(make_experiment("whole"), runs);
  store.add_experiment(make_experiment("part"), {runs[0]});
  for (const RunRecord& run : runs) {
    store.end_attempt(begin(store, run.id), ended_as(RunState::finished));
    store.add_verification(run.id, verified());
  }
  int copies = 0;
  const auto copied_after = [&](const char* sql) {
    execute(store, sql);
    const std::string folder = fmt::format("{}/copy-{}", temp.path(), ++copies);
    copy_runs(store, AskedRuns({runs[0].id, runs[1].id}), folder);
    return Store(folder, Store::Access::write);
  };
  Store copy = copied_after("");
  CHECK(inspect_store(copy).empty());
  CHECK(run_detail(copy, runs[0].id).verifications.back().altered.empty());
  execute(copy, "DELETE FROM experiment_runs WHERE position = 1");
  CHECK(findings_in(copy).size() == 2);
  for (const auto& [sql, found] :
       {std::pair{"UPDATE runs SET plan = '{}' WHERE seed = 1", "what was asked for"},
        std::pair{"DELETE FROM experiment_runs WHERE position = 2", "the list of its runs"},
        std::pair{"UPDATE verifications SET message = 'x'", "its verifications"}})
    CHECK_FALSE(findings_in(copied_after(sql), found).empty());
}

class StoreOfVersion8 {
 public:
  StoreOfVersion8() {
    make_older(temp_.store(), 8, content_of(SOURCE_ROOT "/tests/store/version_8.sql"));
  }
  Store after(const std::string& sql = "") const {
    raw_connection(temp_.store()).execute(sql);
    return Store(temp_.store(), Store::Access::write);
  }
  std::int64_t version() const { return raw_connection(temp_.store()).pragma("user_version"); }

 private:
  ScratchFolder temp_;
};

TEST_CASE("seals of an earlier acid are looked at once, when its store comes to this version") {
  {
    const StoreOfVersion8 earlier;
    Store store = earlier.after();
    CHECK(inspect_store(store).empty());
    for (const RunSummary& run : list_runs(store))
      for (const VerificationRow& row : run_detail(store, run.id).verifications)
        CHECK(row.altered.empty());
    execute(store, "DELETE FROM experiment_runs WHERE position = 0");
    CHECK(findings_in(store).size() == 2);
  }
  for (const auto& [sql, found] :
       {std::pair{"UPDATE points SET value = 2 WHERE series = 1 AND tick = 2",
                  "is not what was verified"},
        std::pair{"UPDATE experiments SET name = 'x'", "the recipe of experiment"},
        std::pair{"UPDATE experiment_runs SET label = 'x' WHERE position = 0", "the label of run"},
        std::pair{"UPDATE runs SET plan = '{}' WHERE number = 2", "what was asked for"},
        std::pair{"UPDATE runs SET seal = 'x' WHERE number = 2", "what was asked for"}}) {
    INFO(sql);
    const StoreOfVersion8 earlier;
    const Store store = earlier.after(sql);
    CHECK(findings_in(store, found).size() == 1);
    bool verified = true;
    for (const RunSummary& run : list_runs(store))
      for (const VerificationRow& row : run_detail(store, run.id).verifications)
        verified = verified && row.altered.empty();
    CHECK_FALSE(verified);
  }
  // Rows without a seal are accepted as found, and have a seal from then on.
  const StoreOfVersion8 earlier;
  Store store = earlier.after(
      "UPDATE runs SET seal = NULL; UPDATE experiments SET seal = NULL;"
      "UPDATE experiment_runs SET seal = NULL");
  CHECK(inspect_store(store).empty());
  execute(store, "UPDATE experiment_runs SET label = 'x' WHERE position = 0");
  CHECK(findings_in(store, "the label of run").size() == 1);
  execute(store, "UPDATE runs SET seal = NULL");
  CHECK(findings_in(store, "what was asked for").size() == 3);
}

TEST_CASE("a store of an earlier acid is left as it is while a living process executes a run") {
  const StoreOfVersion8 earlier;
  CHECK_THROWS_WITH(
      earlier.after("UPDATE attempts SET outcome = NULL, ended = NULL,"
                    " heartbeat = strftime('%Y-%m-%dT%H:%M:%fZ', 'now') WHERE id = 2"),
      ContainsSubstring("process 7 on host there executes run") &&
          ContainsSubstring("wait for it, or stop it there ('kill 7' on there)") &&
          ContainsSubstring("free after 120 s of silence") &&
          ContainsSubstring("nothing was changed"));
  CHECK(earlier.version() == 8);
  const Store store = earlier.after("UPDATE attempts SET heartbeat = started");
  CHECK(earlier.version() == static_cast<std::int64_t>(migrations().size()));
  CHECK(findings_in(store).empty());
}

}  // namespace acid::test

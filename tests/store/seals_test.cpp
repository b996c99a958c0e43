// What somebody changes in a store by hand: a verification counts no longer, and labels, recipes
// and settings are not taken for what acid wrote.
#include "store/maintenance.hpp"
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
    AttemptResult result;
    result.position = at(4);
    result.mean_digest = sha256_hex("mean");
    result.exchanges_drawn = 7;
    result.worker_digests = {sha256_hex("0"), sha256_hex("1")};
    result.edges = {{0, 1, 0.5, 3}};
    result.worker_spans = {{{SpanKind::compute, 0, 1}}, {{SpanKind::wait, 0, 1}}};
    store.end_attempt(attempt_id(), result);
    store.add_verification(run.id,
                           {.equal = true, .message = "all", .from = {}, .environment = {}});
  }
  std::string altered() const { return run_detail(store, run.id).verifications.back().altered; }
  std::string altered_by(const std::string& sql) {
    execute(sql);
    return altered();
  }
  void execute(const std::string& sql) { store.impl().connection().execute(sql); }
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
  // Each alteration, and its undoing.
  for (const auto& [sql, undone] : {
           std::pair{"UPDATE points SET value = value * 2", "UPDATE points SET value = value / 2"},
           std::pair{"UPDATE series SET last = last * 2, best = best * 2",
                     "UPDATE series SET last = last / 2, best = best / 2"},
           std::pair{"UPDATE ticks SET seconds = seconds + 1 WHERE tick = 4",
                     "UPDATE ticks SET seconds = 0.4 WHERE tick = 4"},
           std::pair{"UPDATE event_chunks SET first = first + 1",
                     "UPDATE event_chunks SET first = first - 1"},
           std::pair{"UPDATE log SET text = 'fine ' || text",
                     "UPDATE log SET text = substr(text, 6)"},
           std::pair{"UPDATE checkpoints SET last_tick = last_tick + 1",
                     "UPDATE checkpoints SET last_tick = last_tick - 1"},
           std::pair{"UPDATE results SET exchanges_drawn = 8",
                     "UPDATE results SET exchanges_drawn = 7"},
           std::pair{"UPDATE edges SET exchanges = 4", "UPDATE edges SET exchanges = 3"},
           std::pair{"UPDATE worker_spans SET worker = 1 - worker + 10",
                     "UPDATE worker_spans SET worker = 1 - worker + 10"},
           std::pair{"UPDATE attempts SET environment = '{\"host\":\"there\"}'",
                     "UPDATE attempts SET environment = '{\"host\":\"here\"}'"},
       }) {
    INFO(sql);
    CHECK_THAT(story.altered_by(sql), ContainsSubstring("is not what was verified"));
    CHECK(findings_in(story.store, "is not what was verified").size() == 1);
    CHECK(story.altered_by(undone).empty());
  }
  CHECK(findings_in(story.store, "verified").empty());
  CHECK_THAT(story.altered_by("UPDATE verifications SET proof = NULL"),
             ContainsSubstring("an earlier acid"));
}

TEST_CASE("what acid itself changes later leaves a verification as it is") {
  Verified story;
  story.execute("UPDATE checkpoints SET removed = created");
  CHECK(story.altered().empty());
  RunRecord again = story.run;
  again.settings["checkpoint"] = {{"keep", 7}};  // which its digest leaves out
  again.label = "other";
  story.store.add_experiment(make_experiment("another"), {again});
  CHECK(run_detail(story.store, story.run.id).settings == again.settings);
  CHECK(story.altered().empty());
  CHECK(findings_in(story.store).empty());
}

TEST_CASE("labels, recipes and settings that somebody changed are found, and named") {
  Verified story;
  const std::string& id = story.run.id;
  CHECK(altered_words(story.store, id).empty());
  for (const auto& [sql, undone, found] :
       {std::tuple{"UPDATE experiment_runs SET label = label || 'x'",
                   "UPDATE experiment_runs SET label = 'ad-psgd'", "its label in experiment"},
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
    CHECK_THAT(findings.front(), ContainsSubstring(id) && ContainsSubstring(found));
    CHECK(story.altered_by(undone).empty());
  }
}

TEST_CASE("rows of an earlier acid have no seal, say nothing, and get one when they are verified") {
  Verified story;
  story.execute(
      "UPDATE runs SET seal = NULL; UPDATE experiments SET seal = NULL;"
      " UPDATE experiment_runs SET seal = NULL");
  CHECK(altered_words(story.store, story.run.id).empty());
  CHECK_FALSE(story.altered().empty());
  story.store.add_verification(story.run.id,
                               {.equal = true, .message = "again", .from = {}, .environment = {}});
  CHECK(story.altered().empty());
  CHECK_THAT(story.altered_by("UPDATE experiment_runs SET label = 'x'"),
             ContainsSubstring("its label"));
}

}  // namespace acid::test

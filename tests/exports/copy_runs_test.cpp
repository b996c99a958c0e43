#include "store/copy_runs.hpp"

#include <filesystem>
#include <fstream>

#include "engine/base/digest.hpp"
#include "store/maintenance.hpp"
#include "tests/catch.hpp"
#include "tests/store/story.hpp"

namespace acid {
namespace {

using namespace test;
namespace fs = std::filesystem;

/// Counts the rows of every table that belong to a run.
constexpr const char* kRowsOfRun =
    "SELECT (SELECT count(*) FROM points_view WHERE run = '{0}')"
    " + 1000 * (SELECT count(*) FROM event_list WHERE run = '{0}')"
    " + 1000000 * (SELECT count(*) FROM checkpoint_list WHERE run = '{0}')";

TEST_CASE("a copy holds the named runs alone, with all that counts of them and of their past") {
  Story story;
  story.begin_and_go_on();
  const RunRecord other = make_run(77);
  story.store.add_experiment(make_experiment("other"), {other});

  const ScratchFolder temp;
  copy_runs(story.store, {story.run.id}, temp.path() + "/copy");
  const Store copy(temp.path() + "/copy", Store::Access::read);
  const auto all = list_runs(copy);
  REQUIRE(all.size() == 1);
  CHECK(all.front().id == story.run.id);
  const std::string rows = fmt::format(kRowsOfRun, story.run.id);
  CHECK(number(copy, rows) == number(story.store, rows));
  CHECK(number(copy, rows) > 1'000'000);
  CHECK(number(copy, "SELECT count(*) FROM attempts") == 2);
  CHECK(number(copy, "SELECT count(*) FROM experiments") == 1);
  CHECK(number(copy, "SELECT count(*) FROM pragma_foreign_key_check") == 0);
  for (const CheckpointRow& checkpoint : checkpoints_of(copy, story.run.id)) {
    CHECK(checkpoint.removed);
    CHECK(cut_digests(copy, checkpoint.id).workers ==
          cut_digests(story.store, checkpoint.id).workers);
  }
  CHECK(read_events(copy, story.run.id) == read_events(story.store, story.run.id));

  copy_runs(story.store, {story.run.id}, temp.path() + "/again");
  CHECK(temp.read("copy/store.db") == temp.read("again/store.db"));
  CHECK(std::distance(fs::directory_iterator(temp.path() + "/copy"), fs::directory_iterator()) ==
        2);  // store.db and checkpoints: reading leaves nothing beside them
}

TEST_CASE("a copy without models has what was recorded of them, and is whole") {
  const ScratchFolder folder;
  const RunRecord run = make_run(1);
  Store store = make_store(folder.store(), {run});
  const std::string path = "checkpoints/" + run.id + "/1-final-mean.safetensors";
  fs::create_directories(fs::path(folder.store() + "/" + path).parent_path());
  std::ofstream(folder.store() + "/" + path) << "model";
  AttemptResult result = ended_as(RunState::finished);
  result.artifacts = {{"final-mean", path, sha256_hex("model"), 5}};
  store.end_attempt(begin(store, run.id), result);
  const std::string whole = folder.path() + "/whole", small = folder.path() + "/small";
  copy_runs(store, {run.id}, whole);
  CHECK(fs::exists(whole + "/" + path));
  copy_runs(store, {run.id}, small, FinalModels::left_out);
  CHECK(fs::is_empty(small + "/checkpoints"));
  const Store copy(small, Store::Access::read);
  CHECK(inspect_store(copy).empty());
  const AttemptResult::Artifact left_out = run_detail(copy, run.id).result->artifacts.front();
  CHECK(left_out.sha256 == sha256_hex("model"));
  CHECK_FALSE(left_out.removed.empty());
  copy_runs(copy, {run.id}, folder.path() + "/again");  // there is no file to be missed
}

TEST_CASE("a copy is refused for a run that does not exist and where there is a store") {
  Story story;
  const ScratchFolder temp;
  CHECK_THROWS_AS(copy_runs(story.store, {"nonesuch"}, temp.path() + "/a"), UsageError);
  copy_runs(story.store, {story.run.id}, temp.path() + "/b");
  CHECK_THROWS_AS(copy_runs(story.store, {story.run.id}, temp.path() + "/b"), StoreError);
}

}  // namespace
}  // namespace acid

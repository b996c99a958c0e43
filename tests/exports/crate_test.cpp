#include "exports/crate.hpp"

#include <filesystem>
#include <fstream>

#include "tests/catch.hpp"
#include "tests/store/fixture.hpp"

namespace acid {
namespace {

using namespace test;
using nlohmann::json;

/// Makes the crate of these runs in the folder and returns its ro-crate-metadata.json by @id.
std::map<std::string, json> crate_of(const Store& store, const std::vector<std::string>& ids,
                                     const std::string& path) {
  StagedFolder folder(path);
  const RunJson run_json = [](const RunDetail& run) { return json{{"id", run.summary.id}}; };
  fill_crate(store, ids, folder, {}, run_json, [](std::size_t) {});
  folder.commit_folder();
  std::ifstream file(path + "/ro-crate-metadata.json");
  std::map<std::string, json> graph;
  const json document = json::parse(file);
  for (const json& entity : document["@graph"]) graph[entity["@id"]] = entity;
  return graph;
}

json environment_of(const std::string& commit, const std::string& diff) {
  return {{"acid_version", "1.2"},
          {"git_commit", commit},
          {"git_diff_sha256", diff},
          {"command_line", "acid-worker --run"},
          {"variables", {{"OMP_NUM_THREADS", "1"}}}};
}

void attempt(Store& store, const RunRecord& run, const json& environment, RunState end,
             const std::string& message) {
  const std::int64_t number = store.begin_attempt(run.id, Lease::of_this_process(), environment, {},
                                                  {{"/data/train images", "d1"}});
  AttemptResult result = ended_as(end);
  result.message = message;
  store.end_attempt(number, result);
}

TEST_CASE("a crate tells how every attempt ended and which build made it") {
  const ScratchFolder folder;
  RunRecord run = make_run(1), never = make_run(2);
  run.settings["optimizer"] = {{"learning_rate", 0.1}, {"clip", nullptr}, {"steps", {1, 2}}};
  Store store = make_store(folder.store(), {run, never});
  attempt(store, run, environment_of("c0ffee", ""), RunState::failed, "no <space> left");
  attempt(store, run, environment_of("decade", "d1ff"), RunState::finished, "");
  const auto graph = crate_of(store, {run.id, never.id}, folder.path() + "/crate");

  const json& failed = graph.at("#attempt/" + run.id + "-1");
  CHECK(failed["actionStatus"]["@id"] == "http://schema.org/FailedActionStatus");
  CHECK(failed["error"] == "failed: no <space> left");
  const json& finished = graph.at("#attempt/" + run.id + "-2");
  CHECK(finished["actionStatus"]["@id"] == "http://schema.org/CompletedActionStatus");
  CHECK_FALSE(finished.contains("error"));
  CHECK(graph.at(finished["instrument"]["@id"])["description"].get<std::string>().find("d1ff") !=
        std::string::npos);
  CHECK(finished["instrument"] != failed["instrument"]);
  CHECK(graph.at(finished["environment"][0]["@id"])["value"] == "1");
  CHECK(graph.at("./")["mentions"].size() == 2);
  CHECK_FALSE(graph.at("./").contains("license"));

  std::map<std::string, json> values;
  for (const json& each : finished["object"])
    if (graph.at(each["@id"])["@type"] == "PropertyValue")
      values[graph.at(each["@id"])["name"]] = graph.at(each["@id"])["value"];
  CHECK(values["optimizer.learning_rate"] == 0.1);
  CHECK(values["optimizer.steps"] == "[1,2]");
  CHECK(values.count("optimizer.clip") == 0);
  CHECK(values["SHA-256 of the data file /data/train images"] == "d1");
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()),
                      std::filesystem::directory_iterator()) == 2);  // the store and the crate
}

TEST_CASE("a crate of runs of which none has finished is refused and leaves nothing") {
  const ScratchFolder folder;
  const RunRecord run = make_run(1);
  Store store = make_store(folder.store(), {run});
  attempt(store, run, {}, RunState::diverged, "");
  CHECK_THROWS_WITH(crate_of(store, {run.id}, folder.path() + "/crate"),
                    ContainsSubstring("none of the 1 run has finished"));
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()),
                      std::filesystem::directory_iterator()) == 1);
}

TEST_CASE("a run whose id is no name for a file is not packed") {
  const ScratchFolder folder;
  for (const char* id : {"../../../escaped", "/escaped", "a b", ".."}) {
    RunRecord run = make_run(1);
    run.id = id;
    Store store = make_store(folder.path() + "/store-" + sha256_hex(std::string_view(id)), {run});
    attempt(store, run, {}, RunState::finished, "");
    CHECK_THROWS_AS(crate_of(store, {run.id}, folder.path() + "/crate"), StoreError);
    CHECK_FALSE(std::filesystem::exists(folder.path() + "/crate"));
  }
}

}  // namespace
}  // namespace acid

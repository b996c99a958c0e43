// What differs between runs (acid compare --only-changed).
#include "reports/compare_settings.hpp"

#include <algorithm>
#include <set>
#include <sstream>

#include "engine/base/digest.hpp"
#include "engine/base/error.hpp"
#include "reports/text_table.hpp"
#include "tests/catch.hpp"
#include "tests/reports/synthetic.hpp"

using namespace acid;
using nlohmann::json;
using synthetic::has;

namespace {

/// A store to which planned and begun runs are added, each by an experiment of its own name.
class Shelf {
 public:
  std::string add(const std::string& algorithm, json settings, std::uint64_t seed = 1,
                  const std::string& experiment_name = "first",
                  const std::vector<std::string>& overrides = {}) {
    settings["algorithm"]["kind"] = algorithm;
    RunRecord run;
    run.group = sha256_hex(settings.dump());
    settings["seed"] = seed;
    run.settings = settings;
    run.digest = sha256_hex(settings.dump());
    run.id = run.digest.substr(0, 12);
    run.algorithm = run.label = algorithm;
    run.seed = seed;
    ExperimentRecord experiment;
    experiment.name = experiment_name;
    experiment.id = experiment.recipe_digest = experiment_name;
    experiment.overrides = overrides;
    auto& runs = runs_[experiment_name];
    runs.push_back(run);
    store.add_experiment(experiment, runs);
    return run.id;
  }
  void begin(const std::string& id, const std::string& host, const std::string& commit = "c0ffee",
             bool dirty = false) {
    store.begin_attempt(id, Lease::of_this_process(),
                        {{"host", host},
                         {"cpu_model", "Test CPU"},
                         {"acid_version", "0.1.0"},
                         {"git_commit", commit},
                         {"git_dirty", dirty},
                         {"git_diff_sha256", dirty ? "0123456789abcdef" : ""}},
                        {}, {});
  }

  synthetic::Folder folder;
  Store store{folder.path(), Store::Access::write};

 private:
  std::map<std::string, std::vector<RunRecord>> runs_;
};

json rate(double value) { return {{"optimizer", {{"learning_rate", value}, {"momentum", 0.9}}}}; }

const SettingsDiff::Row* row(const SettingsDiff& diff, const std::string& key) {
  const auto found = std::ranges::find(diff.rows, key, &SettingsDiff::Row::key);
  return found == diff.rows.end() ? nullptr : &*found;
}

}  // namespace

TEST_CASE("only settings that differ are rows, groups are columns, planned runs take part") {
  Shelf shelf;
  const std::string a = shelf.add("ar-sgd", rate(0.1), 1), b = shelf.add("ar-sgd", rate(0.1), 2);
  const std::string c = shelf.add("ad-psgd", rate(0.05), 3);
  const SettingsDiff diff = diff_settings(shelf.store, {a, b, c});
  REQUIRE(diff.columns.size() == 2);
  CHECK(diff.columns[0].runs.size() == 2);
  REQUIRE(diff.rows.size() == 2);  // not the momentum, nor the seeds of groups
  CHECK(diff.rows[0].key == "algorithm.kind");
  CHECK(row(diff, "optimizer.learning_rate")->values == std::vector<json>{0.1, 0.05});
  CHECK(to_text(diff, false) ==
        "                         ar-sgd  ad-psgd\n"
        "algorithm.kind           ar-sgd  ad-psgd\n"
        "optimizer.learning_rate  0.1     0.05\n");
  CHECK(to_csv(diff) ==
        "key,kind,ar-sgd,ad-psgd\n"
        "algorithm.kind,setting,ar-sgd,ad-psgd\n"
        "optimizer.learning_rate,setting,0.1,0.05\n");
  CHECK(has(to_markdown(diff), "| optimizer.learning_rate | 0.1 | 0.05 |"));
}

TEST_CASE("runs of one group have a column each, told apart by their seeds") {
  Shelf shelf;
  const SettingsDiff diff = diff_settings(
      shelf.store, {shelf.add("ar-sgd", rate(0.1), 4), shelf.add("ar-sgd", rate(0.1), 7)});
  REQUIRE(diff.columns.size() == 2);
  CHECK(diff.columns[1].title == "ar-sgd seed 7");
  REQUIRE(diff.rows.size() == 1);
  CHECK(diff.rows[0].key == "seed");
}

TEST_CASE("what differs outside the settings is marked: overrides, acid and the machine") {
  Shelf shelf;
  const std::string a = shelf.add("ar-sgd", rate(0.1), 1, "first");
  const std::string b =
      shelf.add("ar-sgd", rate(0.1), 2, "second", {"optimizer.learning_rate=0.1"});
  shelf.begin(a, "here");
  shelf.begin(b, "there", "c0ffee", true);
  const SettingsDiff diff = diff_settings(shelf.store, {a, b});
  for (const char* key : {"experiment", "overrides", "acid.commit", "host"}) {
    INFO(key);
    REQUIRE(row(diff, key) != nullptr);
    CHECK(row(diff, key)->environment);
  }
  CHECK(row(diff, "host")->values == std::vector<json>{"here", "there"});
  CHECK(row(diff, "acid.commit")->values[1] == "c0ffee, changed: 0123456789ab");
  CHECK(row(diff, "cpu") == nullptr);
  CHECK(row(diff, "acid.version") == nullptr);
  CHECK(has(to_text(diff, false), "host (environment)"));
  CHECK(has(to_csv(diff), "overrides,environment,,optimizer.learning_rate=0.1\n"));
  CHECK(to_json(diff)["changed"].back()["environment"] == true);
}

TEST_CASE("runs of a group on several machines show all of them") {
  Shelf shelf;
  const std::string a = shelf.add("ar-sgd", rate(0.1), 1), b = shelf.add("ar-sgd", rate(0.1), 2);
  const std::string c = shelf.add("ad-psgd", rate(0.1), 1);
  shelf.begin(a, "here");
  shelf.begin(b, "there");
  const SettingsDiff diff = diff_settings(shelf.store, {a, b, c});
  CHECK(row(diff, "host")->values == std::vector<json>{{"here", "there"}, nullptr});
  CHECK(has(to_text(diff, false), "here | there"));
}

TEST_CASE("many columns become a block for each key, 80 columns wide and nothing cut") {
  Shelf shelf;
  std::vector<std::string> ids;
  const std::string path(150, 'x');
  for (int k = 0; k < 12; ++k) {
    json settings = rate(k < 9 ? 0.1 : 0.2);
    settings["a"]["rather"]["long"] = k == 0 ? path + " a" : path + " b";
    settings["index"] = k;
    ids.push_back(shelf.add("ad-psgd", settings));
  }
  for (int k = 0; k < 2; ++k) {
    json settings = rate(0.3);
    settings["index"] = k;
    ids.push_back(shelf.add("ar-sgd", settings));
  }
  const SettingsDiff diff = diff_settings(shelf.store, ids);
  const std::string text = to_text(diff, false);
  INFO(text);
  CHECK(has(text, "optimizer.learning_rate\n  0.1   ad-psgd " + ids[0].substr(0, 8)));
  CHECK(has(text, "\n  0.3   ar-sgd (all 2)\n"));
  CHECK(has(text, path));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    CHECK((terminal_columns(line) <= 80 || has(line, path)));
  const json document = to_json(diff);
  CHECK(document["columns"].size() == 14);
  CHECK(document["changed"][0]["values"].size() == 14);
  std::set<std::string> titles;
  for (const auto& column : diff.columns) titles.insert(column.title);
  CHECK(titles.size() == 14);
}

TEST_CASE("numbers that differ look different") {
  Shelf shelf;
  const SettingsDiff diff = diff_settings(
      shelf.store, {shelf.add("ar-sgd", rate(0.1)), shelf.add("ar-sgd", rate(0.1000000001))});
  CHECK(has(to_text(diff, false), "0.1000000001"));
}

TEST_CASE("a line says that nothing differs") {
  Shelf shelf;
  const std::string a = shelf.add("ar-sgd", rate(0.1));
  CHECK(has(to_text(diff_settings(shelf.store, {a}), false), "one run alone"));
  const std::string same = to_text(diff_settings(shelf.store, {a, a}), false);
  CHECK(has(same, "nothing differs between these 2 runs"));
  CHECK(to_json(diff_settings(shelf.store, {a, a}))["changed"].empty());
  CHECK_THROWS_AS(diff_settings(shelf.store, {}), UsageError);
}

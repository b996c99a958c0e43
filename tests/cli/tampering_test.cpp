// Somebody alters a store or a crate before it is published: acid claim check finds it.
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "engine/base/digest.hpp"
#include "store/impl.hpp"
#include "tests/catch.hpp"
#include "tests/cli/program.hpp"
#include "tests/sealed.hpp"

namespace acid::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

int times(const char* variable, int otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::atoi(text);
}

std::string tampered_recipe(const std::string& seeds, const std::string& more = "") {
  return "seeds = \"" + seeds + "\"\n" + more + R"(
task.dataset = { kind = "quadratic", dimension = 10, noise = 0.5 }
workers.count = 4
budget.gradients = 200
evaluation.every_gradients = 50
record.events = true
[[algorithms]]
kind = "ar-sgd"
[[algorithms]]
kind = "ad-psgd"
[[claims]]
name = "fewer bytes"
kind = "ratio"
algorithm = "ad-psgd"
than = "ar-sgd"
metric = "bytes"
bounds = [0.01, 0.9]
)";
}
const std::string kKept = "checkpoint = { every_time = 10.0, keep = 9 }\n";

void execute(const std::string& store_folder, const std::string& sql) {
  const Store store(store_folder, Store::Access::write);
  store.impl().connection().execute("PRAGMA foreign_keys = OFF");
  store.impl().connection().execute(sql);
}

void flip_a_bit(const std::string& path) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(-5, std::ios::end);
  const char byte = static_cast<char>(file.get() ^ 1);
  file.seekp(-5, std::ios::end);
  file.put(byte);
}

}  // namespace

TEST_CASE("whatever is altered in a store, or in a crate of it, breaks a seal or a digest") {
  const Folder folder;
  folder.write("study.toml", tampered_recipe("1-10", kKept));
  folder.done({"run", "study.toml"});
  const std::string run = folder.runs()[0]["id"];
  const std::string seal_breakers[] = {
      "UPDATE points SET value = value + 1 WHERE series = 1",
      "UPDATE worker_results SET digest = 'x' WHERE worker = 1",
      "UPDATE runs SET seed = 99 WHERE id = '" + run + "'",
      "UPDATE event_chunks SET events = zeroblob(length(events)) WHERE chunk = 1",
      "DELETE FROM experiment_runs WHERE run = (SELECT number FROM runs WHERE id = '" + run + "')",
      "UPDATE experiments SET comparison = replace(comparison, '0.9', '0.95')"};
  for (const std::string& sql : seal_breakers) {
    const std::string store = folder.copy_of_store();
    execute(store, sql);
    INFO(sql);
    const Result found = folder.call({"claim", "check", "--spot", "1%", "--store", "other"});
    CHECK(found.code == 4);
    CHECK_THAT(found.out, ContainsSubstring("wrong  "));
    // The same before the crate was made, and packed with its own SHA256SUMS.
    fs::remove_all(folder.path("crate"));
    if (folder.call({"export", "study", "--crate", "crate", "--store", "other"}).code != 0)
      continue;
    const Result packed = folder.call({"claim", "check", "crate"});
    CHECK(packed.code == 4);
    CHECK_THAT(packed.out, ContainsSubstring("wrong  "));
  }
  const std::string store = folder.copy_of_store();
  for (const auto& file : fs::recursive_directory_iterator(store + "/checkpoints"))
    if (file.path().filename() == "1-0002.safetensors") {
      flip_a_bit(file.path());
      break;
    }
  const Result bit = folder.call({"claim", "check", "--store", "other"});
  CHECK(bit.code == 4);
  CHECK_THAT(bit.out, ContainsSubstring("wrong  ") && ContainsSubstring("checkpoint"));
}

// CONTRIBUTING.md says how to run 200 trials.
TEST_CASE("who renews all seals is found by the runs that are drawn, as often as check promises") {
  const Folder folder;
  folder.write("study.toml", tampered_recipe("1-10"));
  folder.done({"run", "study.toml"});
  write_as_acid(folder.copy_of_store(),
                "UPDATE worker_results SET digest = 'x' WHERE worker = 1 AND attempt = 3");
  const int trials = times("ACID_TAMPERING_TRIALS", 3);
  int found = 0;
  double promised = 0;
  for (int t = 0; t < trials; ++t) {
    const Result check = folder.call({"claim", "check", "--spot", "20%", "--nonce",
                                      std::to_string(t), "--store", "other", "--json"});
    const json told = json::parse(check.out);
    CHECK(told["findings"] == 0);
    CHECK(check.code == (told["equal"] == told["executed"] ? 0 : 4));
    found += check.code == 4 ? 1 : 0;
    promised += told["chance_to_find_one"].get<double>();
  }
  const double spread = std::sqrt(trials * 0.2 * 0.8);
  CHECK(promised == Approx(0.2 * trials));
  CHECK(std::abs(found - promised) < 3.3 * spread);
  WARN("found in " << found << " of " << trials << " trials, promised " << promised);
  CHECK(folder.call({"claim", "check", "--all", "--store", "other"}).code == 4);
}

TEST_CASE("a run is checked by its parts, and an altered part is found if it is drawn") {
  const Folder folder;
  folder.write("study.toml", tampered_recipe("1", kKept));
  folder.done({"run", "study.toml"});
  const Result check = folder.call({"claim", "check", "--spot", "100%", "--json"});
  CHECK(check.code == 5);  // one seed shows nothing
  const json whole = json::parse(check.out);
  CHECK(whole["runs"] == 2);
  CHECK(whole["parts"] > 4);
  CHECK(whole["equal"] == whole["parts"]);
  const std::string store = folder.copy_of_store();
  write_as_acid(store, "UPDATE cut_digests SET digest = 'x' WHERE checkpoint = 2 AND worker = 0");
  const json altered = json::parse(
      folder.call({"claim", "check", "--spot", "100%", "--store", "other", "--json"}).out);
  CHECK(altered["equal"].get<int>() == altered["parts"].get<int>() - 1);
}

TEST_CASE("nothing is found in honest crates") {
  const int crates = times("ACID_HONEST_CRATES", 2);
  for (int c = 0; c < crates; ++c) {
    const Folder folder;
    folder.write("study.toml", tampered_recipe(fmt::format("{}-{}", 7 * c + 1, 7 * c + 5),
                                               c % 2 == 0 ? kKept : std::string()));
    folder.done({"run", "study.toml"});
    const std::string crate = c % 3 == 0 ? "crate" : "crate.zip";
    folder.done({"export", "study", "--crate", crate});
    const json told = folder.told({"claim", "check", crate, "--spot", "20%"});
    CHECK(told["findings"] == 0);
    CHECK(told["executed"] == 2);
    CHECK(told["equal"] == 2);
    const json stored = folder.told({"claim", "check", "study", "--spot", "20%"});
    CHECK(stored["findings"] == 0);
    CHECK(stored["equal"] == stored["executed"]);
  }
}

TEST_CASE("a crate without models and tables is checked as a whole one is") {
  const Folder folder;
  folder.write("study.toml", tampered_recipe("1-6"));
  folder.done({"run", "study.toml"});
  check_refused(folder.call({"export", "study", "--crate", "small", "--without", "all"}),
                {"--without", "models"});
  folder.done({"export", "study", "--crate", "whole", "--without", "models"});
  CHECK(fs::exists(folder.path("whole/metrics.csv")));
  folder.done({"export", "study", "--crate", "small", "--without", "models,tables"});
  std::set<std::string> files;
  for (const auto& file : fs::recursive_directory_iterator(folder.path("small")))
    if (!file.is_directory()) files.insert(file.path().filename());
  CHECK(files == std::set<std::string>{"REPRODUCE.md", "SHA256SUMS", "asked.json", "claims.json",
                                       "recipe.toml", "ro-crate-metadata.json", "store.db"});
  const json told = folder.told({"claim", "check", "small", "--spot", "100%"});
  CHECK(told["findings"] == 0);
  CHECK(told["executed"] == 12);
  CHECK(told["equal"] == 12);
  // Its store is a store like any other, and says where the models are.
  folder.done({"merge", "small/acid-store", "--store", "merged"});
  CHECK(folder.call({"doctor", "--store", "merged"}).code == 0);
  const json run = folder.told({"show", "@latest", "--store", "merged"});
  CHECK(run["artifacts"][0]["removed"].is_string());
  check_refused(folder.call({"export", run["id"].get<std::string>(), "--format", "safetensors",
                             "-o", "model", "--store", "merged"}),
                {"copy without models", run["artifacts"][0]["sha256"].get<std::string>()});
  folder.done({"export", "study", "--crate", "again", "--without", "tables", "--store", "merged"});
  CHECK(folder.told({"claim", "check", "again"})["findings"] == 0);
  // A table may be left out, not be another.
  std::ofstream(folder.path("small/comparison.md")) << "all is well";
  std::ofstream(folder.path("small/SHA256SUMS"), std::ios::app)
      << sha256_hex("all is well") << "  comparison.md\n";
  CHECK(json::parse(folder.call({"claim", "check", "small", "--json"}).out)["wrong"] ==
        json::array({"comparison.md is not what the store gives"}));
  fs::remove(folder.path("whole/metrics.csv"));
  CHECK(folder.call({"claim", "check", "whole"}).code == 4);

  // What is left out is said in one place, and what is there is named in the store.
  const auto found_after = [&](const std::string& sql, const std::string& from) {
    fs::remove_all(folder.path("other"));
    fs::copy(folder.path(from), folder.path("other"), fs::copy_options::recursive);
    execute(folder.path("other/acid-store"), sql + "; PRAGMA journal_mode = DELETE");
    return json::parse(folder.call({"claim", "check", "other", "--json"}).out)["wrong"].dump();
  };
  folder.done({"export", "study", "--crate", "models", "--without", "tables"});
  const std::string marked =
      found_after("UPDATE artifacts SET removed = '2026' WHERE attempt = 1", "models");
  CHECK_THAT(marked, ContainsSubstring("was left out, and the crate does not say so") &&
                         ContainsSubstring("final-mean.safetensors is named by no run"));
  CHECK_THAT(found_after("UPDATE artifacts SET removed = NULL WHERE attempt = 1", "again"),
             ContainsSubstring("safetensors is missing"));
}

TEST_CASE("a crate is checked alone, and groups are compared with reference convergence points") {
  const Folder folder;
  folder.write("study.toml", R"(
seeds = "1-5"
task = { dataset = { kind = "logistic", dimension = 8, train = 400, test = 100 }, batch_size = 8 }
workers.count = 2
budget = { gradients = 400, target = { metric = "eval_accuracy", value = 0.6 } }
evaluation.every_gradients = 20
[[algorithms]]
kind = "ar-sgd"
)");
  folder.done({"run", "study.toml"});
  folder.done({"export", "study", "--crate", "crate"});
  check_refused(folder.call({"claim", "check", "crate", "study"}), {"a crate is checked alone"});
  const Result claims_nothing = folder.done({"claim", "check", "crate"});
  CHECK_THAT(claims_nothing.out, ContainsSubstring("the recipes claim nothing"));

  folder.done({"export", "study", "--format", "rcp", "-o", "rcps.json"});
  std::ifstream file(folder.path("rcps.json"));
  const json entry = *json::parse(file).begin();
  CHECK(entry["BS"] == 16);
  REQUIRE(entry["Epochs to converge"].size() == 5);
  for (const json& epochs : entry["Epochs to converge"])  // 50 gradients are an epoch
    CHECK(std::fmod(epochs.get<double>() * 50, 20) == Approx(0).margin(1e-9));
  const json rows = folder.told({"compare", "study", "--rcp", "rcps.json"})["points"];
  REQUIRE(rows.size() == 1);
  CHECK(rows[0]["passes"] == true);
  CHECK(rows[0]["mean"] == rows[0]["reference_mean"]);
  CHECK_THAT(folder.done({"compare", "study", "--rcp", "rcps.json"}).out,
             ContainsSubstring("passes"));
  check_refused(folder.call({"compare", "study", "--rcp", "study.toml"}),
                {"no file of reference convergence points"});
}

}  // namespace acid::test

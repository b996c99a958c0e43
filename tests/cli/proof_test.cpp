// acid verify with the real engine: recorded runs are proven, and every alteration is found.
#include <fmt/format.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "engine/base/digest.hpp"
#include "store/impl.hpp"
#include "tests/catch.hpp"
#include "tests/cli/program.hpp"
#include "tests/sealed.hpp"

namespace acid::test {
namespace {

constexpr const char* kRecipe = R"(
seeds = [7]
task.dataset = { kind = "quadratic", dimension = 256, noise = 0.5, heterogeneity = 1.0 }
optimizer = { kind = "sgd", learning_rate = 0.02, momentum = 0.9 }
workers.count = 4
budget.gradients = 400
algorithms = ["a2cid2"]
evaluation = { every_gradients = 40, workers = "always" }
checkpoint.every_time = 10.0
record.events = true
)";
constexpr const char* kInvented =  // a series without runs' values
    "INSERT INTO series SELECT 1000, attempt, worker, 'eval_accuracy', '1', 1, 1, 1, 0.99, 0, 1,"
    " 0.99 FROM series WHERE metric = 'eval_loss'; INSERT INTO points VALUES (1000, 1, 0.99, 0)";

/// As kRecipe, but so long that every worker's log has several chunks.
std::string long_recipe() {
  std::string recipe = kRecipe;
  for (const auto& [from, to] : {std::pair{"budget.gradients = 400", "budget.gradients = 8000"},
                                 {"every_gradients = 40", "every_gradients = 400"},
                                 {"every_time = 10.0", "every_time = 100.0"}})
    recipe.replace(recipe.find(from), std::strlen(from), to);
  return recipe;
}

/// One finished run, and copies of its store to alter.
class Proof {
 public:
  explicit Proof(const std::string& driver, const std::string& recipe = kRecipe) {
    folder_.write("r.toml", recipe);
    // A short run against the clock may be over before its first checkpoint could be made. One that
    // diverges has none.
    for (int tries = 0; tries < 50 && (tries == 0 || (finished_ == 0 && checkpoints().empty()));
         ++tries) {
      std::filesystem::remove_all(folder_.path() + "/acid-store");
      finished_ = folder_.call({"run", "r.toml", "--driver", driver}).code;
      id_ = folder_.runs()[0]["id"];
    }
  }
  int finished() const { return finished_; }
  const std::string& id() const { return id_; }

  Result verify(std::vector<std::string> options = {}) const {
    options.insert(options.begin(), {"verify", id_, "--json"});
    return folder_.call(options);
  }
  std::string newest_checkpoint() const {
    const nlohmann::json all = checkpoints();
    INFO("no run got as far as its first checkpoint");
    REQUIRE_FALSE(all.empty());
    return all.back()["number"].dump();
  }
  nlohmann::json checkpoints() const { return folder_.told({"show", id_})["checkpoints"]; }
  /// Verifies a copy that was altered, and checks that the alteration is found.
  nlohmann::json verify_altered(const std::string& sql) const {
    const auto result = verify_copy(sql);
    CHECK(result.code == 4);
    return result.json();
  }
  /// Verifies a copy in which `sql` was executed, after `left` was executed with new seals, as if
  /// by acid.
  Result verify_copy(const std::string& sql, std::vector<std::string> options = {},
                     const std::string& left = {}) const {
    copy_store();
    if (!left.empty()) write_as_acid(copy(), left);
    {
      Store store(copy(), Store::Access::write);
      store.impl().connection().execute(sql);
    }
    return verify_copied(std::move(options));
  }
  void copy_store() const { folder_.copy_of_store("altered"); }
  Result verify_copied(std::vector<std::string> options = {}) const {
    options.insert(options.begin(), {"verify", id_, "--json", "--store", copy()});
    return folder_.call(options);
  }
  Result show_copied() const { return folder_.call({"show", id_, "--store", copy()}); }
  std::string copy() const { return folder_.path("altered"); }
  /// The files of the copy's final mean, or of its checkpoints.
  std::vector<std::string> copied_files(bool mean) const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(copy())) {
      const std::string path = entry.path().string();
      if (path.ends_with(".safetensors") && path.ends_with("final-mean.safetensors") == mean)
        found.push_back(path);
    }
    return found;
  }
  /// The number of the first event in each chunk of a worker's log.
  std::vector<std::int64_t> chunks_of(int worker) const {
    const Store store(folder_.path("acid-store"), Store::Access::read);
    sqlite::Statement select(store.impl().connection(),
                             "SELECT first FROM event_chunks WHERE worker = ? ORDER BY first");
    select.bind(worker);
    std::vector<std::int64_t> found;
    while (select.step()) found.push_back(select.integer(0));
    return found;
  }
  /// Verifies a copy in which one bit of a worker's log was flipped.
  nlohmann::json verify_flipped(int worker, std::int64_t event, std::size_t byte) const {
    std::string hex;
    std::int64_t first = 0;
    {
      const Store store(folder_.path("acid-store"), Store::Access::read);
      sqlite::Statement chunk(store.impl().connection(),
                              "SELECT hex(events), first FROM event_chunks"
                              " WHERE worker = ? AND first <= ? ORDER BY first DESC LIMIT 1");
      REQUIRE(chunk.bind(worker, event).step());
      hex = chunk.text(0);
      first = chunk.integer(1);
    }
    char& digit = hex.at(2 * (16 * static_cast<std::size_t>(event - first) + byte));
    digit = "0123456789ABCDEF"[std::stoi(std::string(1, digit), nullptr, 16) ^ 4];
    return verify_altered(
        fmt::format("UPDATE event_chunks SET events = X'{}' WHERE worker = {} AND first = {}", hex,
                    worker, first));
  }

 private:
  Folder folder_;
  int finished_ = -1;
  std::string id_;
};

}  // namespace

TEST_CASE("a run is proven, and an altered event is found in the event it belongs to",
          "[release]") {
  for (const char* driver : {"threads", "virtual"}) {
    const Proof proof(driver, long_recipe());
    INFO(driver);
    REQUIRE(proof.finished() == 0);
    for (int worker = 0; worker < 4; ++worker) REQUIRE(proof.chunks_of(worker).size() >= 3);
    const auto equal = proof.verify();
    CHECK(equal.code == 0);
    CHECK(equal.json()["equal"] == true);
    CHECK(proof.verify({"--from", proof.newest_checkpoint()}).code == 0);
    for (const std::int64_t event : {std::int64_t{10}, proof.chunks_of(2)[2]})
      for (const std::size_t byte : {0, 7, 9, 12, 15}) {
        const auto altered = proof.verify_flipped(2, event, byte);
        INFO("event " << event << ", byte " << byte << ": " << altered.dump());
        CHECK(altered["equal"] == false);
        CHECK(altered["first_difference"]["worker"] == 2);
        CHECK(altered["first_difference"]["event"] == event);
      }
  }
}

TEST_CASE("no record of a run can be altered unseen", "[release]") {
  using Alterations = std::vector<std::pair<const char*, const char*>>;
  const Alterations executed = {
      {"UPDATE cut_digests SET digest = 'x' WHERE worker = 1", "checkpoint"},
      {"UPDATE cut_digests SET tensors = X'0011223344556677' WHERE worker = 1", "checkpoint"},
      {"DELETE FROM cut_digests WHERE worker = 3", "workers were recorded"},
      {"UPDATE checkpoints SET bytes = bytes + 1", "bytes of checkpoint"},
      {"UPDATE worker_results SET digest = 'x' WHERE worker = 3", "at the end"},
      {"UPDATE worker_results SET gradients = gradients + 1 WHERE worker = 0", "gradients"},
      {"DELETE FROM worker_results WHERE worker = 3", "workers were recorded"},
      {"UPDATE results SET mean_digest = 'x'", "mean"},
      {"UPDATE results SET exchanges_done = exchanges_done + 1", "exchanges"},
      {"UPDATE edges SET exchanges = exchanges + 1 WHERE i = 0", "exchanges between"},
      {"UPDATE points SET value = value + 1 WHERE tick = 2", " was "},
      {"DELETE FROM points WHERE tick = 2", "recorded here"},
      {"UPDATE points SET value = value / 2 WHERE series IN (SELECT id FROM series WHERE metric ="
       " 'train_loss_at_mean')",
       "train_loss_at_mean was"},
      {"UPDATE points SET value = value / 2 WHERE series IN (SELECT id FROM series WHERE metric ="
       " 'worker_loss' AND worker = 2)",
       "worker_loss was"},
      {"UPDATE points SET value = value / 2 WHERE series IN (SELECT id FROM series WHERE metric ="
       " 'worker_loss_worst')",
       "worker_loss_worst was"},
      {"UPDATE ticks SET bytes = bytes + 1 WHERE tick = 2", "bytes of a sample"},
      {"UPDATE attempts SET bytes = bytes + 1", "bytes at the end"},
      {"UPDATE artifacts SET sha256 = 'x'", "final model"},
      {"DELETE FROM artifacts", "no record of the final model"},
      {"DELETE FROM results", "how it ended was not recorded"},
      {"DELETE FROM event_chunks WHERE chunk = (SELECT max(chunk) FROM event_chunks)", ""},
      {"DELETE FROM event_chunks", "the event log is gone"},
      // Results beside the parameters.
      {"UPDATE results SET realised_rate = 9", "another realised rate"},
      {"UPDATE results SET realised_chi1 = 9", "realised χ₁"},
      {"UPDATE results SET staleness = '[4000]'", "other staleness"},
      {"UPDATE edges SET nominal_rate = 9 WHERE i = 0 AND j = 1", "rate of the edge"},
      {"INSERT INTO edges SELECT attempt, 0, 2, 1.0, 0 FROM edges LIMIT 1", "between 0 and 2"},
      {"UPDATE attempts SET message = 'target reached'", "ended otherwise"},
  };
  // What no driver has a part in.
  const Alterations told = {
      // Summaries, which lists and comparisons read instead of the values.
      {"UPDATE series SET last = 0.0001 WHERE metric = 'eval_loss'", "said to be 0.0001"},
      {"UPDATE series SET best = 0.0001 WHERE metric = 'eval_loss'", "said to be 0.0001"},
      {"UPDATE series SET better = 1 WHERE metric = 'eval_loss'", "direction"},
      {"UPDATE series SET unit = 'm' WHERE metric = 'eval_loss'", "unit"},
      {"UPDATE points SET special = 2 WHERE tick = 2", "has a wrong mark"},
      {"INSERT INTO series SELECT 1000, attempt, worker, 'eval_accuracy', '1', 1, 0, 0, 0.99, 0,"
       " NULL, NULL FROM series WHERE metric = 'eval_loss'",
       "eval_accuracy has no values"},
      // What the run says about itself.
      {"UPDATE runs SET seed = 8", "the seed is 7, said to be 8"},
      {"UPDATE runs SET algorithm = 'ad-psgd'", "the algorithm is a2cid2"},
      {"UPDATE runs SET topology = 'complete'", "the topology is ring"},
      {"UPDATE runs SET driver = 'mpi'", "said to be mpi"},
      {"UPDATE runs SET workers = 8", "the number of workers is 4"},
      {"UPDATE runs SET budget_gradients = 5", "said to be 5"},
      {"UPDATE runs SET digest = 'x'", "said to be x"},
      {"UPDATE runs SET group_digest = 'x'", "said to be x"},
      {"UPDATE runs SET plan = json_set(plan, '$.eta', 9)", "said to be 9"},
      {"UPDATE runs SET settings = json_set(settings, '$.execution.max_backlog', 5)", "settings"},
      {"UPDATE attempts SET seeds = json_set(seeds, '$.init', 1)", "seeds for 'init'"},
      // Texts that tables and reports print.
      {"UPDATE experiment_runs SET label = 'AD-PSGD'", "the label of run"},
      {"UPDATE experiments SET recipe_text = replace(recipe_text, '0.02', '0.01')",
       "the recipe of experiment"},
      // Simulated time.
      {"UPDATE worker_spans SET spans = zeroblob(length(spans))", "other spans of a worker's time"},
      {"DELETE FROM worker_spans WHERE worker = 1", "other spans of a worker's time"},
  };
  for (const char* driver : {"threads", "virtual"}) {
    const Proof proof(driver);
    Alterations alterations = executed;
    if (driver == std::string("virtual"))
      alterations.insert(alterations.end(), told.begin(), told.end());
    for (const auto& [sql, found] : alterations) {
      INFO(driver << ": " << sql);
      CHECK_THAT(proof.verify_altered(sql)["message"].get<std::string>(), ContainsSubstring(found));
    }
  }
}

TEST_CASE("an altered file of a checkpoint or of the final model is found", "[release]") {
  const Proof proof("virtual");
  const std::string checkpoint = proof.newest_checkpoint();
  for (const bool mean : {true, false}) {
    proof.copy_store();
    for (const std::string& path : proof.copied_files(mean)) {
      std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
      file.seekp(-3, std::ios::end);
      file.put('x');
    }
    const auto found = proof.verify_copied();
    INFO(found.out);
    CHECK(found.code == 4);
    CHECK_THAT(found.json()["message"].get<std::string>(),
               ContainsSubstring(mean ? "the file of the final model was altered"
                                      : "the file of checkpoint " + checkpoint + " was altered"));
    if (!mean) CHECK(proof.verify_copied({"--from", checkpoint}).code == 4);
  }
  // A final model whose tensor has another name is another model.
  proof.copy_store();
  const std::string path = proof.copied_files(true).at(0);
  std::stringstream content;
  content << std::ifstream(path, std::ios::binary).rdbuf();
  std::string bytes = content.str();
  const std::size_t name_end = bytes.find("\":{\"data_offsets\"");
  REQUIRE(name_end != std::string::npos);
  bytes[name_end - 1] = '_';
  std::ofstream(path, std::ios::binary) << bytes;
  Store(proof.copy(), Store::Access::write)
      .impl()
      .connection()
      .execute(
          fmt::format("UPDATE artifacts SET sha256 = '{}'", sha256_hex(std::string_view(bytes))));
  const auto found = proof.verify_copied();
  CHECK(found.code == 4);
  CHECK_THAT(found.json()["message"].get<std::string>(),
             ContainsSubstring("another mean at the end"));
}

TEST_CASE("a part of a run that is equal does not make up for the rest", "[release]") {
  const Proof proof("virtual");
  const std::string from = proof.newest_checkpoint();
  constexpr const char* kAltered =
      "UPDATE cut_digests SET digest = 'x' WHERE checkpoint = (SELECT min(id) FROM checkpoints)";
  CHECK(proof.verify_copy(kAltered, {"--from", from}).code == 4);  // the seal tells
  CHECK(proof.verify_copy("", {"--from", from}, kAltered).code == 0);
  CHECK_THAT(proof.show_copied().out,
             ContainsSubstring("verified from checkpoint " + from + " on"));
  CHECK(proof.verify_copied().code == 4);
  CHECK(proof.verify_copied({"--from", from}).code == 0);
  CHECK_THAT(proof.show_copied().out, ContainsSubstring("verification FAILED"));
}

// The records up to the last checkpoint are proven; later ones must be unaltered.
TEST_CASE("the records of an interrupted run are proven as far as they can be", "[release]") {
  const std::string interrupted =
      "UPDATE attempts SET outcome = 'interrupted'; DELETE FROM results;"
      " DELETE FROM worker_results; DELETE FROM edges; DELETE FROM artifacts;";
  for (const char* driver : {"threads", "virtual"}) {
    const Proof proof(driver);
    INFO(driver);
    const auto sound = proof.verify_copy("", {}, interrupted);
    INFO(sound.out << sound.err);
    CHECK(sound.code == 0);
    CHECK_THAT(sound.json()["message"].get<std::string>(),
               ContainsSubstring("nothing after checkpoint " + proof.newest_checkpoint()));
    for (const char* sql : {"UPDATE event_chunks SET events = zeroblob(length(events))"
                            " WHERE chunk = (SELECT max(chunk) FROM event_chunks)",
                            kInvented}) {
      INFO(sql);
      CHECK(proof.verify_copy(sql, {}, interrupted).code == 4);
    }
  }
}

TEST_CASE("another learning rate is found in the first event that it changes", "[release]") {
  const Proof proof("virtual");
  constexpr const char* kAltered =
      "UPDATE runs SET settings = json_set(settings, '$.optimizer.learning_rate', 0.021)";
  // Settings that do not match their digest are not executed: such a run might have no end.
  const auto refused = proof.verify_altered(kAltered);
  CHECK(refused["first_difference"].is_null());
  CHECK(refused["compared"] == "nothing, for the settings were altered");
  const std::string claim = refused["untrue"].dump();
  const std::string words = "the digest of the settings is ";
  REQUIRE_THAT(claim, ContainsSubstring(words));
  const std::string digest = claim.substr(claim.find(words) + words.size(), 64);
  const auto altered = proof.verify_altered(fmt::format("{}, digest = '{}'", kAltered, digest));
  INFO(altered.dump());
  CHECK(altered["first_difference"]["event"].is_number());
  CHECK(altered["first_difference"]["worker"].is_number());
  CHECK(altered["first_difference"]["normalised_time"].get<double>() < 2);
  CHECK(altered["first_difference"]["tensor"].is_string());
  CHECK_THAT(altered["untrue"].dump(), ContainsSubstring("the run's id is"));
}

TEST_CASE("a run that diverged is proven to diverge", "[release]") {
  std::string recipe = kRecipe;
  recipe.replace(recipe.find("0.02"), 4, "20.5");
  for (const char* driver : {"threads", "virtual"}) {
    INFO(driver);
    const Proof proof(driver, recipe);
    CHECK(proof.finished() == 1);
    const auto result = proof.verify();
    INFO(result.out << result.err);
    CHECK(result.code == 0);
    for (const char* sql : {"UPDATE points SET value = value + 1 WHERE tick = 1",
                            "DELETE FROM event_chunks", kInvented}) {
      INFO(sql);
      CHECK(proof.verify_copy(sql).code == 4);
    }
    if (driver == std::string("virtual")) {
      CHECK(proof.verify_copy("UPDATE attempts SET bytes = bytes + 1").code == 4);
      CHECK(proof.verify_copy("DELETE FROM event_chunks WHERE worker = 2").code == 4);
    }
  }
}

TEST_CASE("a run whose seconds end before its first round is proven") {
  const Proof proof("virtual", R"(
task.dataset = { kind = "quadratic", dimension = 2 }
workers.count = 2
budget = { gradients = 10, seconds = 0.5 }
record.events = true
algorithms = ["d-psgd"]
)");
  CHECK(proof.finished() == 0);
  const auto result = proof.verify();
  INFO(result.out << result.err);
  CHECK(result.code == 0);
}

}  // namespace acid::test

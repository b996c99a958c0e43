// acid verify with the real engine: what was recorded is proven, and nothing can be altered unseen.
#include <filesystem>

#include "store/impl.hpp"
#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

namespace acid::test {
namespace {

using Catch::Matchers::Contains;

constexpr const char* kRecipe = R"(
name = "proof"
seeds = [7]
[task]
dataset = { kind = "quadratic", dimension = 8192, noise = 0.5, heterogeneity = 1.0 }
[optimizer]
kind = "sgd"
learning_rate = 0.02
momentum = 0.9
[workers]
count = 4
[topology]
kind = "ring"
[budget]
gradients = 4000
[[algorithms]]
kind = "a2cid2"
communication_rate = 1.0
[evaluation]
every_gradients = 400
[checkpoint]
every_time = 100.0
[record]
events = true
)";

/// One finished run, and copies of its store to alter.
class Proof {
 public:
  explicit Proof(const std::string& driver, const std::string& recipe = kRecipe) {
    folder_.write("r.toml", recipe);
    finished_ = acid(folder_, {"run", "r.toml", "--driver", driver}).code;
    id_ = acid(folder_, {"list", "--json"}).json()["runs"][0]["id"];
  }
  int finished() const { return finished_; }
  const std::string& id() const { return id_; }

  Result verify(std::vector<std::string> options = {}) const {
    options.insert(options.begin(), {"verify", id_, "--json"});
    return acid(folder_, options);
  }
  std::string newest_checkpoint() const {
    const nlohmann::json shown = acid(folder_, {"show", id_, "--json"}).json();
    return shown["checkpoints"].back()["number"].dump();
  }
  /// Of a copy in which `sql` was executed.
  nlohmann::json verify_altered(const std::string& sql) const {
    namespace fs = std::filesystem;
    const std::string copy = folder_.path("altered");
    fs::remove_all(copy);
    fs::copy(folder_.path("acid-store"), copy, fs::copy_options::recursive);
    {
      Store store(copy, Store::Access::write);
      store.impl().connection().execute(sql);
    }
    const auto result = acid(folder_, {"verify", id_, "--json", "--store", copy});
    CHECK(result.code == 4);
    return result.json();
  }
  /// Of a copy in which one bit of a worker's log was flipped.
  nlohmann::json verify_flipped(int worker, std::size_t event, std::size_t byte) const {
    std::string hex;
    {
      const Store store(folder_.path("acid-store"), Store::Access::read);
      sqlite::Statement chunk(
          store.impl().connection(),
          "SELECT hex(events) FROM event_chunks WHERE worker = ? AND first = 0");
      REQUIRE(chunk.bind(worker).step());
      hex = chunk.text(0);
    }
    char& digit = hex.at(2 * (16 * event + byte));
    digit = "0123456789ABCDEF"[std::stoi(std::string(1, digit), nullptr, 16) ^ 4];
    return verify_altered(fmt::format(
        "UPDATE event_chunks SET events = X'{}' WHERE worker = {} AND first = 0", hex, worker));
  }

 private:
  Folder folder_;
  int finished_ = -1;
  std::string id_;
};

struct Alteration {
  const char* sql;
  const char* found;
};

}  // namespace

TEST_CASE("a run is proven, and an altered event is found in the event it belongs to",
          "[release]") {
  for (const char* driver : {"threads", "virtual"}) {
    const Proof proof(driver);
    INFO(driver);
    REQUIRE(proof.finished() == 0);
    const auto equal = proof.verify();
    CHECK(equal.code == 0);
    CHECK(equal.json()["equal"] == true);
    CHECK(proof.verify({"--from", proof.newest_checkpoint()}).code == 0);
    for (const std::size_t byte : {0, 7, 9, 12, 15}) {
      const auto altered = proof.verify_flipped(2, 100, byte);
      INFO("byte " << byte << ": " << altered.dump());
      CHECK(altered["equal"] == false);
      CHECK(altered["first_difference"]["worker"] == 2);
      CHECK(altered["first_difference"]["event"] == 100);
    }
  }
}

TEST_CASE("no record of a run can be altered unseen", "[release]") {
  const Alteration alterations[] = {
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
      {"UPDATE ticks SET bytes = bytes + 1 WHERE tick = 2", "bytes of a sample"},
      {"UPDATE attempts SET bytes = bytes + 1", "bytes at the end"},
      {"UPDATE artifacts SET sha256 = 'x'", "final model"},
      {"DELETE FROM event_chunks WHERE chunk = (SELECT max(chunk) FROM event_chunks)", ""},
  };
  for (const char* driver : {"threads", "virtual"}) {
    const Proof proof(driver);
    for (const auto& [sql, found] : alterations) {
      INFO(driver << ": " << sql);
      CHECK_THAT(proof.verify_altered(sql)["message"].get<std::string>(), Contains(found));
    }
  }
}

TEST_CASE("another learning rate is found in the first event that it changes", "[release]") {
  const Proof proof("virtual");
  const auto altered = proof.verify_altered(
      "UPDATE runs SET settings = json_set(settings, '$.optimizer.learning_rate', 0.021)");
  INFO(altered.dump());
  CHECK(altered["first_difference"]["event"].is_number());
  CHECK(altered["first_difference"]["worker"].is_number());
  CHECK(altered["first_difference"]["normalised_time"].get<double>() < 2);
  CHECK(altered["first_difference"]["tensor"].is_string());
  CHECK(altered["changed"].contains("plan_sha256"));
}

TEST_CASE("a run that diverged is proven to diverge") {
  std::string recipe = kRecipe;
  recipe.replace(recipe.find("0.02"), 4, "20.5");
  for (const char* driver : {"threads", "virtual"}) {
    INFO(driver);
    const Proof proof(driver, recipe);
    CHECK(proof.finished() == 1);
    const auto result = proof.verify();
    INFO(result.out << result.err);
    CHECK(result.code == 0);
  }
}

}  // namespace acid::test

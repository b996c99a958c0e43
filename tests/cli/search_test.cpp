// Validation data and searches, by the real programs.
#include <string>

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

namespace acid::test {
namespace {

using nlohmann::json;

constexpr const char* kTask = R"(
[task]
dataset = { kind = "logistic", dimension = 8, train = 400, test = 100, label_noise = 0.1 }
batch_size = 8
validation = 0.25
[workers]
count = 3
[topology]
kind = "ring"
[budget]
gradients = 300
[evaluation]
every_gradients = 100
)";

}  // namespace

TEST_CASE("every driver measures on validation data what acid verify finds again") {
  const Folder folder;
  folder.write("held.toml",
               std::string("seeds = [4]\n") + kTask +
                   "[[algorithms]]\nkind = \"a2cid2\"\n[[algorithms]]\nkind = \"ar-sgd\"\n");
  std::vector<std::string> drivers{"virtual", "threads"};
  if (there_is_mpi()) drivers.emplace_back("mpi");
  for (const std::string& driver : drivers) {
    INFO(driver);
    const Result result = acid(folder, {"run", "held.toml", "--driver", driver});
    INFO(result.err);
    REQUIRE(result.code == 0);
    const json runs =
        acid(folder, {"list", "--json", "--where", "driver = '" + driver + "'"}).json()["runs"];
    REQUIRE(runs.size() == 2);
    for (const json& run : runs) {
      CHECK(run["metrics"]["validation_loss"] < 0.69);
      CHECK(run["metrics"]["validation_loss"] != run["metrics"]["eval_loss"]);
      CHECK(run["metrics"]["validation_accuracy"] > 0.6);
      const json seeds = acid(folder, {"show", run["id"], "--json"}).json()["seeds"];
      CHECK(seeds.contains("validation"));
      const Result proof = acid(folder, {"verify", run["id"]});
      INFO(proof.out << proof.err);
      CHECK(proof.code == 0);
    }
  }
  CHECK_THAT(acid(folder, {"plan", "held.toml"}).out,
             ContainsSubstring("300 to train on, 100 held out for validation, 100 to test on"));
}

}  // namespace acid::test

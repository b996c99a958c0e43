// Data of a person's own, from files to a verified run.
#include <cstdint>

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"
#include "tests/data/arrays.hpp"

namespace {

using acid::testing::npy;
using acid::testing::npy_text;

constexpr const char* kRecipe = R"(
name = "own"
seeds = [1]
[task]
dataset = { kind = "npy", root = "data" }
model = "linear"
batch_size = 4
[optimizer]
kind = "sgd"
learning_rate = 0.1
[workers]
count = 2
[budget]
gradients = 40
[[algorithms]]
kind = "ad-psgd"
communication_rate = 1.0
)";

/// Examples of two classes that their first feature tells apart.
struct OwnData : acid::test::Folder {
  OwnData() {
    std::filesystem::create_directory(path("data"));
    std::vector<float> inputs;
    std::vector<std::int64_t> labels;
    for (int e = 0; e < 16; ++e) {
      labels.push_back(e % 2);
      inputs.insert(inputs.end(), {e % 2 == 0 ? -1.0F : 1.0F, static_cast<float>(e) / 16});
    }
    for (const std::string part : {"train", "test"}) {
      write("data/" + part + "_inputs.npy", npy<float>("<f4", {16, 2}, inputs));
      write("data/" + part + "_labels.npy", npy<std::int64_t>("<i8", {16}, labels));
    }
    write("own.toml", kRecipe);
  }
};

}  // namespace

TEST_CASE("arrays train, wherever they lie are the same run, and changed are another") {
  const OwnData folder;
  const auto ran = acid::test::acid(folder, {"run", "own.toml"});
  INFO(ran.err);
  REQUIRE(ran.code == 0);
  const auto compared = acid::test::acid(folder, {"compare", "own", "--json"}).json();
  CHECK(compared["groups"][0]["metrics"]["eval_accuracy"]["mean"] == 1);
  CHECK(acid::test::acid(folder, {"verify", "own"}).code == 0);
  const auto id = [&](const std::string& root) {
    return acid::test::acid(folder, {"plan", "own.toml", "--json", "--set",
                                     "task.dataset.root=\"" + root + "\""})
        .json()["runs"][0]["id"];
  };
  const auto before = id("data");
  CHECK(id("data/") == before);
  std::filesystem::rename(folder.path("data"), folder.path("moved"));
  CHECK(id("moved") == before);
  std::vector<std::int64_t> labels(16, 1);
  labels[0] = 0;
  folder.write("moved/test_labels.npy", npy<std::int64_t>("<i8", {16}, labels));
  CHECK(id("moved") != before);
}

TEST_CASE("what is wrong with arrays is said before anything runs, else as the run's error") {
  const OwnData folder;
  const auto planned = [&](const std::string& name, const std::string& content) {
    const std::string before = folder.read(name);
    folder.write(name, content);
    const auto result = acid::test::acid(folder, {"plan", "own.toml"});
    CHECK(result.code == 2);
    CHECK_THAT(result.err, ContainsSubstring("own.toml:5") && ContainsSubstring(name));
    folder.write(name, before);
    return result.err;
  };
  CHECK_THAT(planned("data/train_inputs.npy", "text"), ContainsSubstring("numpy.save"));
  CHECK_THAT(planned("data/test_labels.npy",
                     npy_text("{'descr': '|O', 'fortran_order': False, 'shape': (16,), }")),
             ContainsSubstring("Python objects"));
  std::vector<float> inputs(32, 1);
  inputs[5] = std::numeric_limits<float>::quiet_NaN();
  folder.write("data/train_inputs.npy", npy<float>("<f4", {16, 2}, inputs));
  const auto ran = acid::test::acid(folder, {"run", "own.toml"});
  CHECK(ran.code == 1);
  CHECK_THAT(ran.err, ContainsSubstring("train_inputs.npy") && ContainsSubstring("in example 2"));
  CHECK(acid::test::acid(folder, {"doctor", "--store"}).code == 0);
}

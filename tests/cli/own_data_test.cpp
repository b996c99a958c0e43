// The user's own data, from files to a verified run.
#include <csignal>
#include <cstdint>

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"
#include "tests/data/arrays.hpp"
#include "tests/data/images.hpp"
#include "tests/waiting.hpp"

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
learning_rate = 0.1
[workers]
count = 2
[budget]
gradients = 40
[[algorithms]]
kind = "ad-psgd"
)";

/// Examples of two classes that differ in their first feature.
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

/// Checks that the recipe learns all of its test set, and that the run can be verified.
void check_trains(const acid::test::Folder& folder) {
  folder.done({"run", "own.toml"});
  const auto compared = folder.told({"compare", "own"});
  CHECK(compared["groups"][0]["metrics"]["eval_accuracy"]["mean"] == 1);
  folder.done({"verify", "own"});
}

}  // namespace

TEST_CASE("arrays train, wherever they lie are the same run, and changed are another") {
  const OwnData folder;
  check_trains(folder);
  const auto id = [&](const std::string& root) {
    return folder.told(
        {"plan", "own.toml", "--set", "task.dataset.root=\"" + root + "\""})["runs"][0]["id"];
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

TEST_CASE("a run says which worker has fewer examples than a minibatch") {
  const OwnData folder;
  const std::string told =
      "of the 16 training examples, fewer than a batch of 8, which holds some "
      "several times";
  CHECK_THAT(folder
                 .done({"run", "own.toml", "--set", "task.batch_size=8", "--set",
                        "task.partition={kind=\"quantity\",alpha=1e-3}"})
                 .err,
             ContainsSubstring("worker ") && ContainsSubstring(told));
  CHECK_THAT(folder.done({"run", "own.toml"}).err, !ContainsSubstring(told.substr(30)));
}

TEST_CASE("what is wrong with arrays is said before anything runs") {
  const OwnData folder;
  const auto planned = [&](const std::string& name, const std::string& content) {
    const std::string before = folder.read(name);
    folder.write(name, content);
    const auto result = folder.call({"plan", "own.toml"});
    check_refused(result, {"own.toml:5", name});
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
  check_refused(folder.call({"run", "own.toml"}), {"train_inputs.npy", "in example 2"});
}

TEST_CASE("a plan says what each split holds, in words and in JSON, and warns of what is doubted") {
  const OwnData folder;
  const auto planned = folder.done({"plan", "own.toml"});
  CHECK_THAT(
      planned.out,
      ContainsSubstring("\ntrain: 16 examples of 2 features (F32), from -1 to 1; 2 classes of "
                        "8 each; the first: label 0, from -1 to 0 with mean -0.5\n"));
  CHECK_THAT(planned.err,
             ContainsSubstring("own.toml:5") && ContainsSubstring("warning: ") &&
                 ContainsSubstring("16 of 16 test examples looked at are among the training") &&
                 ContainsSubstring("keep them apart"));
  const auto run = folder.told({"plan", "own.toml"})["runs"][0];
  CHECK(run["splits"].size() == 2);
  CHECK(run["warnings"].size() == 1);
}

namespace {

/// Dark and light images, some in each format, and of another size than the recipe's.
struct OwnImages : acid::test::Folder {
  OwnImages() {
    using namespace acid::testing;
    for (const std::string part : {"train", "test"})
      for (int k = 0; k < 16; ++k) {
        const bool light = k % 2 == 1;
        const std::string name =
            fmt::format("photos/{}/{}/{:02}.", part, light ? "light" : "dark", k);
        std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
        const auto grey = static_cast<std::uint8_t>((light ? 200 : 20) + k);
        const Pixels pixels = plain(6 + k, 9, {grey, static_cast<std::uint8_t>(grey / 2), 0});
        if (k < 8)
          write(name + "png", png(6 + k, 9, pixels));
        else
          write(name + "jpg", jpeg(6 + k, 9, pixels));
      }
    write("own.toml", recipe("photos"));
  }
  static std::string recipe(const std::string& root) {
    std::string text = kRecipe;
    const std::string arrays = R"({ kind = "npy", root = "data" })";
    return text.replace(text.find(arrays), arrays.size(),
                        "{ kind = \"image-folder\", root = \"" + root +
                            "\", height = 4, width = 5, mean = [0.4, 0.2, 0.0] }");
  }
};

}  // namespace

TEST_CASE("images of files train, wherever they lie and by any number of threads the same run") {
  const OwnImages folder;
  check_trains(folder);
  const auto planned = [&](const std::string& setting) {
    return folder.told({"plan", "own.toml", "--set", setting})["runs"][0]["id"];
  };
  const auto before = planned("seeds=[1]");
  CHECK(planned("task.dataset.decode_threads=1") == before);
  CHECK(planned("task.dataset.height=5") != before);
  std::filesystem::rename(folder.path("photos"), folder.path("moved"));
  folder.write("own.toml", OwnImages::recipe("moved"));
  CHECK(planned("seeds=[1]") == before);
  // The run exists and has finished already.
  CHECK_THAT(folder.call({"run", "own.toml"}).err, !ContainsSubstring("resuming"));
  CHECK(folder.told({"list"})["runs"].size() == 1);
  std::filesystem::rename(folder.path("moved/test/dark/00.png"),
                          folder.path("moved/test/dark/a.png"));
  CHECK(planned("seeds=[1]") != before);
}

TEST_CASE("what is wrong with a folder of images is said with its place") {
  const OwnImages folder;
  std::filesystem::rename(folder.path("photos/test/light"), folder.path("photos/test/bright"));
  check_refused(folder.call({"plan", "own.toml"}),
                {"own.toml:5", "the class 'light' is in", "add the folder"});
  std::filesystem::rename(folder.path("photos/test/bright"), folder.path("photos/test/light"));
  const std::string whole = folder.read("photos/train/light/09.jpg");
  folder.write("photos/train/light/09.jpg", whole.substr(0, whole.size() / 2));
  folder.write("photos/train/dark/00.png", "");
  // A plan reads some images, all if there are few.
  check_refused(folder.call({"run", "own.toml"}),
                {"2 of 16 images cannot be used", "photos/train/dark/00.png: the file is empty",
                 "photos/train/light/09.jpg: the JPEG image is", "remove it"});
}

TEST_CASE("a run on images goes on after an interruption, also where their folder was moved") {
  const OwnImages folder;
  const std::vector<std::string> long_run = {"run",   "own.toml",
                                             "--set", "budget.gradients=1000000000",
                                             "--set", "checkpoint.every_time=50"};
  const auto stopped_when = [&](const auto& sign) {
    acid::test::Running running(folder, long_run);
    CHECK(acid::test::comes_true([&] { return sign(running) || has_ended(running); }));
    kill(running.pid(), SIGTERM);
    const auto ended = running.wait();
    CHECK(ended.code == 130);
    return ended.err;
  };
  stopped_when([&](const auto&) {
    const std::string files = folder.path("acid-store/checkpoints");
    return folder.has("acid-store/checkpoints") && !std::filesystem::is_empty(files);
  });
  std::filesystem::rename(folder.path("photos"), folder.path("moved"));
  folder.write("own.toml", OwnImages::recipe("moved"));
  const auto resumes = [](const auto& running) {
    return running.err().find("resuming from gradient") != std::string::npos;
  };
  CHECK_THAT(stopped_when(resumes), ContainsSubstring("resuming from gradient"));
  REQUIRE(folder.runs().size() == 1);
  const auto attempts = folder.shown(folder.runs()[0]["id"])["attempts"];
  REQUIRE(attempts.size() == 2);
  CHECK(attempts[1]["changed"].empty());
}

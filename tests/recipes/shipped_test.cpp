#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "recipes/reference.hpp"
#include "tests/catch.hpp"
#include "tests/recipes/recipe.hpp"
#include "tests/scratch.hpp"

namespace acid::test {
namespace {

namespace fs = std::filesystem;

/// An IDX file of MNIST's size with labels k mod 10 and images that are dark and all different.
void write_idx(const fs::path& file, std::uint32_t magic, std::uint32_t count) {
  std::ofstream out(file, std::ios::binary);
  const bool images = magic == 0x803;
  for (const std::uint32_t number : images ? std::vector<std::uint32_t>{magic, count, 28, 28}
                                           : std::vector<std::uint32_t>{magic, count})
    for (const int shift : {24, 16, 8, 0}) out.put(static_cast<char>(number >> shift & 0xff));
  for (std::uint32_t k = 0; !images && k < count; ++k) out.put(static_cast<char>(k % 10));
  const std::string number(reinterpret_cast<const char*>(&count), 2);
  for (std::uint32_t k = 0; images && k < count; ++k) {
    out.seekp(16 + std::streamoff{k} * 28 * 28);
    out << number << static_cast<char>(k) << static_cast<char>(k >> 8);
  }
  out.close();
  if (images) fs::resize_file(file, 16 + std::uintmax_t{count} * 28 * 28);
}

/// The shipped recipe, with the folder that scripts/fetch-mnist fills beside it.
std::string with_mnist(const fs::path& recipe) {
  // Named by this process: tests run in parallel, and a plan reads the files.
  struct Mnist {
    const fs::path root = fs::path(BINARY_ROOT) / "tests" / fmt::format("mnist-{}", getpid());
    ~Mnist() { fs::remove_all(root); }
  };
  static const Mnist folder;
  const fs::path& root = folder.root;
  fs::create_directories(root / "recipes");
  fs::create_directories(root / "mnist");
  write_idx(root / "mnist/train-images-idx3-ubyte", 0x803, 70'000);
  write_idx(root / "mnist/train-labels-idx1-ubyte", 0x801, 70'000);
  write_idx(root / "mnist/t10k-images-idx3-ubyte", 0x803, 10'000);
  write_idx(root / "mnist/t10k-labels-idx1-ubyte", 0x801, 10'000);
  const fs::path copy = root / "recipes" / recipe.filename();
  fs::copy_file(recipe, copy, fs::copy_options::overwrite_existing);
  return copy.string();
}

/// The overrides with which the comment of a paper's full.toml plans it without the paper's data.
std::vector<std::string> stand_ins(const fs::path& recipe) {
  std::vector<std::string> overrides;
  std::ifstream file(recipe);
  const std::string_view begin = "--set '", end = "'";
  for (std::string line; std::getline(file, line);)
    if (const std::size_t at = line.find(begin); line.starts_with('#') && at != line.npos)
      if (line.ends_with(end))
        overrides.push_back(
            line.substr(at + begin.size(), line.size() - at - begin.size() - end.size()));
  return overrides;
}

}  // namespace

TEST_CASE("every shipped recipe compiles without warnings") {
  int recipes = 0;
  for (const auto& file : fs::directory_iterator(SOURCE_ROOT "/recipes")) {
    if (file.path().extension() != ".toml") continue;
    ++recipes;
    INFO(file.path());
    const bool mnist = file.path().stem() == "mnist-study";
    const Plan plan = load_recipe(mnist ? with_mnist(file.path()) : file.path().string());
    CHECK(plan.name == file.path().stem().string());
    CHECK_FALSE(plan.runs.empty());
    CHECK(plan.warnings.empty());
  }
  CHECK(recipes >= 4);
}

TEST_CASE("every paper has a recipe that claims something, one at its own settings, and a page",
          "[release]") {
  std::set<std::string> papers;
  for (const auto& folder : fs::directory_iterator(SOURCE_ROOT "/recipes/papers")) {
    const std::string name = folder.path().filename().string();
    INFO(name);
    papers.insert(name);
    const Plan full =
        load_recipe((folder.path() / "full.toml").string(), stand_ins(folder.path() / "full.toml"));
    CHECK(full.name == name + "-full");
    CHECK(fs::exists(folder.path() / "README.md"));
    CHECK(fs::file_size(folder.path() / "picture.svg") < 70'000);
  }
  std::set<std::string> built_in;
  for (const RecipeTemplate& one : paper_recipes()) {
    INFO(one.name);
    built_in.emplace(one.name);
    const Plan mini = compile_recipe(std::string(one.name) + ".toml", std::string(one.text));
    CHECK(mini.name == one.name);
    for (const Diagnostic& warning : mini.warnings)  // slow networks may be what is shown
      CHECK_THAT(warning.message,
                 ContainsSubstring("in exchanges") || ContainsSubstring("exchanges take"));
    CHECK(mini.seeds.size() == 10);
    CHECK_FALSE(mini.comparison.at("claims").empty());
    const Plan file =
        load_recipe(fmt::format("{}/recipes/papers/{}/mini.toml", SOURCE_ROOT, one.name));
    CHECK(file.comparison == mini.comparison);
  }
  CHECK(papers == built_in);
}

TEST_CASE("the quickstart compares three algorithms over enough seeds for a test, in a minute") {
  const Plan plan = load_recipe(SOURCE_ROOT "/recipes/quickstart.toml");
  REQUIRE(plan.runs.size() == 24);
  for (const PlannedRun& run : plan.runs) {
    CHECK(run.workers == 16);
    CHECK(run.parameters > 10'000);
    CHECK(run.parameters < 40'000);
    CHECK(run.budget_gradients >= 3000);
    CHECK(run.budget_gradients <= 8000);
    CHECK(run.settings["evaluation"]["consensus_every_time"] == 5.0);
  }
}

TEST_CASE("the study searches the rates of four algorithms at four settings, on other seeds") {
  const Plan plan = load_recipe(SOURCE_ROOT "/recipes/study.toml");
  REQUIRE(plan.search);
  CHECK(plan.search->cells.size() == 14);
  CHECK(plan.search->values == 4);
  CHECK(plan.search->metric == "validation_loss");
  CHECK(plan.runs.size() == 112);
  CHECK(plan.search->final_count() == 140);
  for (const PlannedRun& run : plan.runs) CHECK(run.examples->validation == 500);
}

TEST_CASE(
    "the study of MNIST searches as many values for every algorithm, and tests on ten seeds") {
  const Plan plan = load_recipe(with_mnist(SOURCE_ROOT "/recipes/mnist-study.toml"));
  REQUIRE(plan.search);
  CHECK(plan.search->cells.size() == 14);
  CHECK(plan.runs.size() == 56);
  CHECK(plan.search->final_count() == 140);
  for (const PlannedRun& run : plan.runs) {
    CHECK(run.workers == 16);
    CHECK(run.examples->validation == 5000);
  }
}

TEST_CASE("the gallery shows its recipes as they are, and recipes of studies compile",
          "[release]") {
  const std::string page = content_of(SOURCE_ROOT "/docs/GALLERY.md");
  int recipes = 0;
  for (const auto& file : fs::directory_iterator(SOURCE_ROOT "/recipes/gallery")) {
    INFO(file.path());
    CHECK_NOTHROW(load_recipe(file.path()));
    CHECK_THAT(page, ContainsSubstring("\n" + content_of(file.path()) + "```"));
    const std::string picture = "gallery/" + file.path().stem().string() + ".svg";
    CHECK_THAT(page, ContainsSubstring("(" + picture + ")"));
    CHECK(fs::exists(SOURCE_ROOT "/docs/" + picture));
    ++recipes;
  }
  CHECK(recipes == 6);
  for (const auto& file : fs::recursive_directory_iterator(SOURCE_ROOT "/docs/studies"))
    if (file.path().extension() == ".toml" && file.path().filename() != "claims.toml")
      CHECK_FALSE(load_recipe(file.path()).comparison["claims"].empty());
}

}  // namespace acid::test

#include "bench/json_file.hpp"

#include <filesystem>

#include "engine/base/error.hpp"
#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

namespace acid::test {

using bench::JsonFile;

TEST_CASE("results replace an older file as a whole, and not before there are any") {
  const Folder folder;
  const std::string path = folder.write("result.json", "older");
  std::filesystem::create_symlink("result.json", folder.path("link"));
  const JsonFile file(folder.path("link"));
  CHECK(folder.read("result.json") == "older");
  CHECK_FALSE(folder.has("result.json.tmp"));
  file.write({{"rows", 1}});
  CHECK(nlohmann::json::parse(folder.read("result.json")) == nlohmann::json{{"rows", 1}});
  CHECK(std::filesystem::is_symlink(folder.path("link")));
  CHECK_FALSE(folder.has("result.json.tmp"));
}

TEST_CASE(
    "a place where no results can be written is told at once, and devices stay what they are") {
  const Folder folder;
  CHECK_THROWS_AS(JsonFile(folder.path()), Error);
  CHECK_THROWS_AS(JsonFile(folder.path("nowhere/result.json")), Error);
  JsonFile("/dev/null").write({{"rows", 1}});
  CHECK(std::filesystem::is_character_file("/dev/null"));
  CHECK_THROWS_AS(JsonFile("/dev/full").write({{"rows", 1}}), Error);
  JsonFile("").write({{"rows", 1}});
  JsonFile("-").write({{"rows", 1}});
}

}  // namespace acid::test

#include "exports/staged_folder.hpp"

#include <filesystem>
#include <fstream>

#include "engine/base/digest.hpp"
#include "tests/catch.hpp"
#include "tests/store/fixture.hpp"

namespace acid {
namespace {

using namespace test;
namespace fs = std::filesystem;

std::size_t entries(const std::string& folder) {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

TEST_CASE("a staged folder appears whole, with the digests it told") {
  const ScratchFolder temp;
  const std::string target = temp.path() + "/crate";
  StagedFolder folder(target + "/");
  folder.add("a.txt", "first");
  folder.add("runs/0a/b.bin", [](const Write& write) {
    write("sec");
    write("ond");
  });
  std::ofstream(folder.place_of("put/c")) << "third";
  folder.adopt("put");
  CHECK_FALSE(fs::exists(target));
  REQUIRE(folder.files().size() == 3);
  CHECK(folder.files().at("runs/0a/b.bin").bytes == 6);
  CHECK(folder.files().at("runs/0a/b.bin").sha256 == sha256_hex(std::string_view("second")));
  CHECK(folder.files().at("put/c").sha256 == sha256_hex(std::string_view("third")));
  folder.commit_folder();
  CHECK(content_of(target + "/runs/0a/b.bin") == "second");
  CHECK(entries(temp.path()) == 1);
}

TEST_CASE("what is given up leaves nothing, and nothing is overwritten") {
  const ScratchFolder temp;
  const std::string target = temp.path() + "/crate";
  { StagedFolder(target).add("a", "b"); }
  CHECK(entries(temp.path()) == 0);
  std::ofstream(target) << "another's";
  CHECK_THROWS_AS(StagedFolder(target), UsageError);
  CHECK(content_of(target) == "another's");
  StagedFolder archive(target + ".zip");
  archive.add("a", "b");
  archive.commit_zip();
  CHECK(content_of(target + ".zip").substr(0, 2) == "PK");

  const std::string full = temp.path() + "/full";
  fs::create_directory(full);
  CHECK_NOTHROW(StagedFolder(full));  // empty
  std::ofstream(full + "/x") << "x";
  CHECK_THROWS_AS(StagedFolder(full), UsageError);
  CHECK_THROWS_WITH(StagedFolder(temp.path() + "/no/such/crate"),
                    ContainsSubstring("cannot create"));
}

TEST_CASE("no name leads out of a staged folder") {
  const ScratchFolder temp;
  StagedFolder folder(temp.path() + "/crate");
  for (const char* name : {"", "/etc/x", "..", "a/../../x", "a//b", "a/", ".hidden", "a\\b", "a b",
                           "a\nb", "naïve", "a\"b", "\xe2\x80\xae"}) {
    INFO(name);
    CHECK_THROWS_AS(folder.add(name, "content"), StoreError);
    CHECK_THROWS_AS(folder.place_of(name), StoreError);
  }
  CHECK(folder.files().empty());
  CHECK(entries(temp.path()) == 1);
}

TEST_CASE("the same files make the same archive, whenever they are packed") {
  const ScratchFolder temp;
  const auto packed = [&](const std::string& name, const char* zone) {
    setenv("TZ", zone, 1);
    tzset();
    StagedFolder folder(temp.path() + "/" + name);
    folder.add("z/later", std::string(100'000, 'x'));
    folder.add("a", name.substr(0, 1));
    fs::last_write_time(folder.place_of("a"),
                        fs::file_time_type::clock::now() - std::chrono::hours(name.size()));
    folder.commit_zip();
    return content_of(temp.path() + "/" + name);
  };
  const char* before = std::getenv("TZ");
  const std::string zone = before != nullptr ? before : "";
  const std::string first = packed("one.zip", "UTC"), second = packed("other.zip", "Asia/Tokyo");
  before != nullptr ? setenv("TZ", zone.c_str(), 1) : unsetenv("TZ");
  tzset();
  CHECK(first == second);
  CHECK(first.size() < 10'000);
}

}  // namespace
}  // namespace acid

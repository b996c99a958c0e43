#include "engine/checkpoint/atomic_file.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <optional>
#include <vector>

#include "engine/base/error.hpp"
#include "tests/catch.hpp"
#include "tests/scratch.hpp"

using namespace acid;
using acid::test::content_of;
using acid::test::put;
using acid::test::ScratchFolder;
namespace fs = std::filesystem;

namespace {

std::span<const std::byte> bytes(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

std::string long_text(std::size_t size) {
  std::string text;
  while (text.size() < size) text += std::to_string(text.size()) + ',';
  text.resize(size);
  return text;
}

std::size_t files_in(const ScratchFolder& folder) {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()));
}

/// No file of this process grows beyond `bytes` while it lives.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  void (*handler_)(int);
  rlimit before_{};
};

}  // namespace

TEST_CASE("a file written in pieces of any size is their concatenation") {
  const ScratchFolder folder;
  const std::string path = folder.path("file");
  constexpr std::size_t kMiB = 1 << 20;
  for (const std::size_t piece :
       {std::size_t{1000}, kMiB - 1, kMiB, kMiB + 1, 2 * kMiB + 7, std::size_t{3} << 20}) {
    const std::string text = long_text((3 << 20) + 17);
    AtomicFile file(path);
    for (std::size_t at = 0; at < text.size(); at += piece)
      file.write(bytes(text).subspan(at, std::min(piece, text.size() - at)));
    const auto written = file.commit();
    INFO("pieces of " << piece);
    CHECK(content_of(path) == text);
    CHECK(written.bytes == static_cast<std::int64_t>(text.size()));
    CHECK(written.sha256 == sha256_hex(text));
    CHECK(files_in(folder) == 1);
  }
}

TEST_CASE("an empty file can be written") {
  const ScratchFolder folder;
  const auto written = AtomicFile(folder.path("file")).commit();
  CHECK(written.bytes == 0);
  CHECK(fs::file_size(folder.path("file")) == 0);
  CHECK(written.sha256 == sha256_hex(std::string_view()));
}

TEST_CASE("small pieces are gathered before they are written") {
  const ScratchFolder folder;
  AtomicFile file(folder.path("file"));
  const fs::path temporary = fs::directory_iterator(folder.path())->path();
  const std::string piece(256, 'x');
  for (int k = 0; k < 4096; ++k) file.write(bytes(piece));
  CHECK(fs::file_size(temporary) == 0);
  file.write(bytes(piece));
  CHECK(fs::file_size(temporary) == 1 << 20);
}

TEST_CASE("until it is committed, and when it never is, the old file stays") {
  const ScratchFolder folder;
  const std::string path = folder.path("file");
  put(path, "old");
  {
    AtomicFile file(path);
    file.write(bytes("new"));
    CHECK(content_of(path) == "old");
  }
  CHECK(content_of(path) == "old");
  CHECK(files_in(folder) == 1);
  AtomicFile file(path);
  file.write(bytes("new"));
  file.commit();
  CHECK(content_of(path) == "new");
}

TEST_CASE("a file that cannot be written leaves the old one, no debris, and a reason") {
  const ScratchFolder folder;
  const std::string path = folder.path("file");
  put(path, "old");
  const std::string text = long_text(3 << 20);
  for (const std::size_t piece : {std::size_t{1000}, text.size()}) {
    std::optional<AtomicFile> file(std::in_place, path);
    const FileSizeLimit limit(1'500'000);
    const auto write = [&] {
      for (std::size_t at = 0; at < text.size(); at += piece)
        file->write(bytes(text).subspan(at, std::min(piece, text.size() - at)));
      file->commit();
    };
    CHECK_THROWS_WITH(write(), ContainsSubstring(path) && ContainsSubstring("File too large"));
    file.reset();
    CHECK(content_of(path) == "old");
    CHECK(files_in(folder) == 1);
  }
}

TEST_CASE("what fits only in the buffer fails at the commit, not silently") {
  const ScratchFolder folder;
  AtomicFile file(folder.path("file"));
  file.write(bytes(long_text(1000)));
  const FileSizeLimit limit(100);
  CHECK_THROWS_AS(file.commit(), StoreError);
  CHECK_FALSE(fs::exists(folder.path("file")));
}

TEST_CASE("a name that is taken by a folder is an error and leaves no debris") {
  const ScratchFolder folder;
  fs::create_directories(folder.path("taken/inside"));
  {
    AtomicFile file(folder.path("taken"));
    file.write(bytes("text"));
    CHECK_THROWS_WITH(file.commit(), ContainsSubstring("rename") && ContainsSubstring("taken"));
  }
  CHECK(fs::is_directory(folder.path("taken/inside")));
  CHECK(files_in(folder) == 1);
}

TEST_CASE("folders are made with all above them, and what cannot be one is a StoreError") {
  const ScratchFolder folder;
  create_folders(folder.path("a/b/c"));
  create_folders(folder.path("a/b/c"));
  CHECK(fs::is_directory(folder.path("a/b/c")));
  fs::create_directory_symlink("loop", folder.path("loop"));
  fs::create_directory_symlink("nowhere", folder.path("dangling"));
  folder.write("taken", "a file");
  for (const char* bad : {"loop", "loop/a", "dangling", "dangling/a", "taken", "taken/a"}) {
    INFO(bad);
    CHECK_THROWS_AS(create_folders(folder.path(bad)), StoreError);
  }
}

TEST_CASE("two files under one name do not write into each other") {
  const ScratchFolder folder;
  const std::string path = folder.path("file");
  AtomicFile first(path), second(path);
  first.write(bytes("first"));
  second.write(bytes("second, longer"));
  CHECK(files_in(folder) == 2);
  second.commit();
  CHECK(content_of(path) == "second, longer");
  first.commit();
  CHECK(content_of(path) == "first");
  CHECK(files_in(folder) == 1);
}

TEST_CASE("a file is committed once") {
  const ScratchFolder folder;
  AtomicFile file(folder.path("file"));
  file.commit();
  CHECK_THROWS_AS(file.commit(), AssertionError);
  CHECK_THROWS_AS(file.write(bytes("more")), AssertionError);
}

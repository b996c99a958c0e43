#include "engine/checkpoint/safetensors.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "engine/base/error.hpp"
#include "tests/catch.hpp"

using namespace acid;
namespace fs = std::filesystem;

namespace {

struct Folder {
  // Of this process alone: test cases run side by side.
  fs::path path = fs::temp_directory_path() / ("acid_safetensors_test_" + std::to_string(getpid()));
  Folder() {
    fs::remove_all(path);
    fs::create_directories(path);
  }
  ~Folder() { fs::remove_all(path); }
};

const std::vector<float> kValues = {1, 2, 3, 4, 5, 6, -0.0f};
const std::vector<Segment> kSegments = {{"weight", {2, 3}, 0, 6}, {"bias", {1}, 6, 1}};

}  // namespace

TEST_CASE("tensors come back as they were written") {
  const Folder folder;
  const std::string path = folder.path / "model.safetensors";
  const auto written = write_safetensors(path, {{kSegments, kValues}}, {{"run", "abc"}});
  CHECK(written.sha256 == sha256_file(path));
  CHECK(written.bytes == static_cast<std::int64_t>(fs::file_size(path)));
  const auto tensors = read_safetensors(path);
  REQUIRE(tensors.size() == 2);
  CHECK(tensors.at("weight").shape == std::vector<std::int64_t>{2, 3});
  CHECK(tensors.at("weight").values == std::vector<float>{1, 2, 3, 4, 5, 6});
  CHECK(std::signbit(tensors.at("bias").values[0]));
}

TEST_CASE("the data of a safetensors file start at a multiple of eight") {
  const Folder folder;
  const std::string path = folder.path / "model.safetensors";
  write_safetensors(path, {{kSegments, kValues}}, {});
  std::ifstream file(path, std::ios::binary);
  std::uint64_t length = 0;
  file.read(reinterpret_cast<char*>(&length), 8);
  CHECK(length % 8 == 0);
}

TEST_CASE("a failed write leaves no file and names the reason") {
  const Folder folder;
  const std::string path = folder.path / "missing" / "model.safetensors";
  CHECK_THROWS_WITH(write_safetensors(path, {{kSegments, kValues}}, {}),
                    Catch::Contains("No such file"));
  {
    AtomicFile abandoned(folder.path / "other");
    abandoned.write(std::as_bytes(std::span(kValues)));
  }
  CHECK(fs::is_empty(folder.path));
}

TEST_CASE("a damaged safetensors file is refused, wherever it is cut") {
  const Folder folder;
  const std::string path = folder.path / "model.safetensors", cut = folder.path / "cut";
  write_safetensors(path, {{kSegments, kValues}}, {});
  std::ifstream file(path, std::ios::binary);
  const std::string content((std::istreambuf_iterator<char>(file)), {});
  for (std::size_t size = 0; size < content.size(); ++size) {
    std::ofstream(cut, std::ios::binary | std::ios::trunc) << content.substr(0, size);
    INFO("cut to " << size << " bytes");
    CHECK_THROWS_AS(read_safetensors(cut), Error);
  }
}

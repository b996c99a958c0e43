#include "engine/checkpoint/safetensors.hpp"

#include "engine/base/error.hpp"
#include "tests/catch.hpp"
#include "tests/scratch.hpp"

using namespace acid;
using acid::test::put;
using acid::test::ScratchFolder;
namespace fs = std::filesystem;

namespace {

const std::vector<float> kValues = {1, 2, 3, 4, 5, 6, -0.0f};
const std::vector<Segment> kSegments = {{"weight", {2, 3}, 0, 6}, {"bias", {1}, 6, 1}};

}  // namespace

TEST_CASE("tensors come back as they were written") {
  const ScratchFolder folder;
  const std::string path = folder.path("model.safetensors");
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
  const ScratchFolder folder;
  const std::string path = folder.path("model.safetensors");
  write_safetensors(path, {{kSegments, kValues}}, {});
  std::ifstream file(path, std::ios::binary);
  std::uint64_t length = 0;
  file.read(reinterpret_cast<char*>(&length), 8);
  CHECK(length % 8 == 0);
}

TEST_CASE("a failed write leaves no file and names the reason") {
  const ScratchFolder folder;
  const std::string path = folder.path("missing/model.safetensors");
  CHECK_THROWS_WITH(write_safetensors(path, {{kSegments, kValues}}, {}),
                    ContainsSubstring("No such file"));
  {
    AtomicFile abandoned(folder.path("other"));
    abandoned.write(std::as_bytes(std::span(kValues)));
  }
  CHECK(fs::is_empty(folder.path()));
}

TEST_CASE("a damaged safetensors file is refused, wherever it is cut") {
  const ScratchFolder folder;
  const std::string path = folder.path("model.safetensors"), cut = folder.path("cut");
  write_safetensors(path, {{kSegments, kValues}}, {});
  const std::string content = acid::test::content_of(path);
  for (std::size_t size = 0; size < content.size(); ++size) {
    put(cut, content.substr(0, size));
    INFO("cut to " << size << " bytes");
    CHECK_THROWS_WITH(read_safetensors(cut), ContainsSubstring(cut));
  }
}

TEST_CASE("a folder and a missing file are no safetensors files") {
  const ScratchFolder folder;
  CHECK_THROWS_AS(read_safetensors(folder.path()), Error);
  CHECK_THROWS_WITH(read_safetensors(folder.path("missing")), ContainsSubstring("No such file"));
}

TEST_CASE("bytes are not read as floats") {
  const ScratchFolder folder;
  const std::string path = folder.path("model.safetensors");
  const std::string header = R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}} )";
  put(path,
      std::string(1, static_cast<char>(header.size())) + std::string(7, '\0') + header + "data");
  CHECK_THROWS_WITH(read_safetensors(path), ContainsSubstring("float32"));
}

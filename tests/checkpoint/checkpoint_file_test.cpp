#include "engine/checkpoint/checkpoint_file.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "engine/base/rng.hpp"
#include "tests/catch.hpp"
#include "tests/scratch.hpp"
#include "tests/shell.hpp"

using namespace acid;
using acid::test::content_of;
using acid::test::put;
using acid::test::ScratchFolder;
namespace fs = std::filesystem;

namespace {

/// Vectors of some workers; StateVectors borrow them.
struct Saved {
  std::vector<std::vector<float>> x, momentum;
  std::vector<Segment> segments;
  std::vector<std::byte> state;
  std::map<std::string, std::string> metadata{{"run", "abc"}};

  Saved(std::size_t workers, std::size_t size, std::size_t state_bytes = 11) {
    Stream stream(workers, size);
    const auto vector = [&] {
      std::vector<float> values(size);
      for (float& value : values) value = static_cast<float>(stream.normal());
      if (size > 2) values[1] = -0.0f, values[2] = std::nanf("");
      return values;
    };
    for (std::size_t w = 0; w < workers; ++w) x.push_back(vector()), momentum.push_back(vector());
    const auto head = static_cast<std::int64_t>(size / 2 * 2),
               all = static_cast<std::int64_t>(size);
    segments = {{"weight", {2, head / 2}, 0, head}, {"bias", {all - head}, head, all - head}};
    for (std::size_t k = 0; k < state_bytes; ++k) state.push_back(std::byte(7 * k));
  }
  static StateVectors vectors(const std::string& name, const std::vector<Segment>& segments,
                              const std::vector<std::vector<float>>& values) {
    return {name, segments, {values.begin(), values.end()}};
  }
  CheckpointContent content() const {
    return {metadata, {vectors("x", segments, x), vectors("momentum", segments, momentum)}, state};
  }
};

std::vector<std::vector<float>> vectors_in(const CheckpointFile& file, const std::string& name,
                                           const std::vector<Segment>& segments,
                                           std::size_t workers, std::size_t size) {
  std::vector<std::vector<float>> values(workers, std::vector<float>(size, 12345.0f));
  file.read(name, segments, {values.begin(), values.end()});
  return values;
}

// Equal bit by bit: NaN equals itself, and zero does not equal minus zero.
bool same(const std::vector<std::vector<float>>& a, const std::vector<std::vector<float>>& b) {
  const auto bits = [](float value) { return std::bit_cast<std::uint32_t>(value); };
  const auto same_vector = [&](const std::vector<float>& left, const std::vector<float>& right) {
    return std::ranges::equal(left, right, {}, bits, bits);
  };
  return std::ranges::equal(a, b, same_vector);
}

}  // namespace

TEST_CASE("a checkpoint comes back as it was written, for any number of workers and any size") {
  const ScratchFolder folder;
  const std::string path = folder.path("checkpoint");
  for (const std::size_t workers : {1, 2, 3, 4, 7, 16})
    for (const std::size_t size : {0, 1, 2, 63, 64, 65}) {
      INFO(workers << " workers, " << size << " floats");
      const Saved saved(workers, size, size);
      const auto written = write_checkpoint(path, saved.content());
      CHECK(written.sha256 == sha256_file(path));
      CHECK(written.bytes == static_cast<std::int64_t>(fs::file_size(path)));
      const CheckpointFile file(path, written.sha256);
      CHECK(file.path() == path);
      CHECK(file.metadata().at("run") == "abc");
      CHECK(file.metadata().at("acid_checkpoint") == kCheckpointVersion);
      CHECK(std::equal(file.state().begin(), file.state().end(), saved.state.begin(),
                       saved.state.end()));
      CHECK(same(vectors_in(file, "x", saved.segments, workers, size), saved.x));
      CHECK(same(vectors_in(file, "momentum", saved.segments, workers, size), saved.momentum));
    }
}

TEST_CASE("vectors longer than a block, and more workers than a block holds, come back") {
  const ScratchFolder folder;
  const std::string path = folder.path("checkpoint");
  const std::pair<std::size_t, std::size_t> cases[] = {{3, 300'001}, {5, 131'072}, {20'001, 33}};
  for (const auto& [workers, size] : cases) {
    const Saved saved(workers, size);
    write_checkpoint(path, saved.content());
    const CheckpointFile file(path);
    CHECK(same(vectors_in(file, "x", saved.segments, workers, size), saved.x));
    CHECK(same(vectors_in(file, "momentum", saved.segments, workers, size), saved.momentum));
  }
}

TEST_CASE("a vector that was not saved is not there, and one without tensors is left out") {
  const ScratchFolder folder;
  const std::string path = folder.path("checkpoint");
  const Saved saved(2, 4);
  CheckpointContent content = saved.content();
  content.vectors.push_back({"buffers", {}, {{}, {}}});
  write_checkpoint(path, content);
  const CheckpointFile file(path);
  CHECK(file.has("x"));
  CHECK(file.has("momentum"));
  CHECK_FALSE(file.has("buffers"));
  CHECK_FALSE(file.has("x_tilde"));
  CHECK_FALSE(file.has("mom"));
  CHECK_FALSE(file.has("state"));
  CHECK_THROWS_AS(vectors_in(file, "x_tilde", saved.segments, 2, 4), DamagedCheckpoint);
  CHECK_NOTHROW(vectors_in(file, "buffers", {}, 2, 0));
}

TEST_CASE("vectors of another run are refused: other workers, shapes, names, more or fewer") {
  const ScratchFolder folder;
  const std::string path = folder.path("checkpoint");
  const Saved saved(3, 8);
  write_checkpoint(path, saved.content());
  const CheckpointFile file(path);
  const auto refused = [&](std::vector<Segment> segments, std::size_t workers) {
    CHECK_THROWS_AS(vectors_in(file, "x", segments, workers, 16), DamagedCheckpoint);
  };
  const auto& [weight, bias] = std::tie(saved.segments[0], saved.segments[1]);
  refused({weight, bias}, 2);
  refused({weight, bias}, 4);
  refused({weight}, 3);
  refused({weight, bias, {"more", {1}, 8, 1}}, 3);
  refused({{"weight", {4, 2}, 0, 8}, bias}, 3);
  refused({{"weight", {8}, 0, 8}, bias}, 3);
  refused({{"weights", {2, 4}, 0, 8}, bias}, 3);
  CHECK_NOTHROW(vectors_in(file, "x", {weight, bias}, 3, 16));
}

TEST_CASE("a checkpoint is a safetensors file to a reader that knows nothing of acid") {
  const ScratchFolder folder;
  const std::string path = folder.path("checkpoint");
  Saved saved(2, 3, 5);
  saved.x = {{1, 2, 3}, {4, 5, -0.0f}};
  saved.momentum = {{0, 0, 0}, {0, 0, 0.5f}};
  saved.metadata = {{"run", "abc"}, {"note", "tab\t \"quoted\" und Grüße"}};
  write_checkpoint(path, saved.content());
  const std::string reader = "python3 " SOURCE_ROOT "/tests/checkpoint/read_safetensors.py ";
  CHECK(acid::test::run_shell(reader + path).output ==
        "metadata acid_checkpoint 1\n"
        "metadata note tab\t \"quoted\" und Grüße\n"
        "metadata run abc\n"
        "x/weight F32 2x2x1 0000803f00000040000080400000a040\n"
        "x/bias F32 2x1 0000404000000080\n"
        "momentum/weight F32 2x2x1 00000000000000000000000000000000\n"
        "momentum/bias F32 2x1 000000000000003f\n"
        "state U8 5 00070e151c\n");
}

TEST_CASE("a checkpoint cut anywhere, or longer than it was, is refused") {
  const ScratchFolder folder;
  const std::string path = folder.path("checkpoint"), cut = folder.path("cut");
  const Saved saved(2, 3);
  const std::string sha256 = write_checkpoint(path, saved.content()).sha256;
  const std::string content = content_of(path);
  for (std::size_t size = 0; size < content.size(); ++size) {
    put(cut, content.substr(0, size));
    INFO("cut to " << size << " of " << content.size() << " bytes");
    CHECK_THROWS_AS(CheckpointFile(cut), DamagedCheckpoint);
    CHECK_THROWS_AS(CheckpointFile(cut, sha256), DamagedCheckpoint);
  }
  put(cut, content + '\0');
  CHECK_THROWS_AS(CheckpointFile(cut), DamagedCheckpoint);
  CHECK_THROWS_AS(CheckpointFile(cut, sha256), DamagedCheckpoint);
}

TEST_CASE("an altered byte is found by the digest, and without one does no harm") {
  const ScratchFolder folder;
  const std::string path = folder.path("checkpoint"), altered = folder.path("altered");
  const Saved saved(2, 3);
  const std::string sha256 = write_checkpoint(path, saved.content()).sha256;
  const std::string content = content_of(path);
  std::size_t noticed = 0;
  for (std::size_t at = 0; at < content.size(); ++at)
    for (const int flip : {0x01, 0x02, 0x04, 0x10, 0x20, 0x80, 0xFF}) {
      std::string other = content;
      other[at] = static_cast<char>(other[at] ^ flip);
      put(altered, other);
      INFO("byte " << at << " xor " << flip);
      CHECK_THROWS_AS(CheckpointFile(altered, sha256), DamagedCheckpoint);
      try {
        const CheckpointFile file(altered);
        CHECK(file.state().size() == saved.state.size());
        vectors_in(file, "x", saved.segments, 2, 3);
        vectors_in(file, "momentum", saved.segments, 2, 3);
      } catch (const StoreError&) {
        ++noticed;
      }
    }
  CHECK(noticed > content.size());
}

TEST_CASE("a digest is compared with the whole file") {
  const ScratchFolder folder;
  const std::string path = folder.path("checkpoint");
  const Saved saved(3, 400'000);  // several blocks
  const std::string sha256 = write_checkpoint(path, saved.content()).sha256;
  CHECK_NOTHROW(CheckpointFile(path, sha256));
  CHECK_THROWS_WITH(CheckpointFile(path, std::string(64, '0')),
                    ContainsSubstring("SHA-256") && ContainsSubstring(path));
  CHECK_THROWS_AS(CheckpointFile(path, sha256.substr(1)), DamagedCheckpoint);
}

namespace {

// Makes a file with this header and this many bytes of data.
std::string with_header(const std::string& header, std::size_t data) {
  std::string text(8, '\0');
  for (std::size_t k = 0; k < 8; ++k) text[k] = static_cast<char>(header.size() >> (8 * k));
  return text + header + std::string(data, '\0');
}

}  // namespace

TEST_CASE("a checkpoint of another version is no damage: another acid can go on from it") {
  const ScratchFolder folder;
  const std::string path = folder.path("checkpoint");
  put(path, with_header(R"({"__metadata__":{"acid_checkpoint":"2"},)"
                        R"("state":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})",
                        4));
  try {
    CheckpointFile file(path);
    FAIL("it was read");
  } catch (const DamagedCheckpoint& damage) {
    FAIL("it was called damaged: " << damage.what());
  } catch (const StoreError& error) {
    CHECK_THAT(error.what(), ContainsSubstring("version '2'") && ContainsSubstring(path));
  }
}

TEST_CASE("headers that lie are refused with what is wrong with them") {
  const ScratchFolder folder;
  const std::string path = folder.path("checkpoint");
  const std::string start = R"({"__metadata__":{"acid_checkpoint":"1"})";
  const std::string state = R"(,"state":{"dtype":"U8","shape":[4],"data_offsets":[0,4]})";
  const auto float_at = [](const std::string& shape, const std::string& range) {
    return R"(,"x/a":{"dtype":"F32","shape":)" + shape + R"(,"data_offsets":)" + range + "}";
  };
  put(path, with_header(start + state + float_at("[1,2]", "[4,12]") + "}", 12));
  REQUIRE_NOTHROW(CheckpointFile(path));
  struct Case {
    std::string header, message;
    std::size_t data = 12;
  };
  const Case cases[] = {
      {"[]", "header"},
      {"{}", "bytes"},
      {"{}", "not a checkpoint", 0},
      {std::string(100'000, '['), "header"},
      {R"({"__metadata__":7})", "header", 0},
      {R"({"__metadata__":{"acid_checkpoint":1}})", "header", 0},
      {start + "}", "no state", 0},
      {start + R"(,"state":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", "bytes", 4},
      {start + R"(,"state":{"dtype":"U8","shape":[2,2],"data_offsets":[0,4]}})", "bytes", 4},
      {start + R"(,"state":{"dtype":"F8_E4M3","shape":[2,2],"data_offsets":[0,4]}})",
       "list of bytes", 4},
      {start + R"(,"state":{"dtype":"I64","shape":[1],"data_offsets":[0,8]}})", "bytes", 8},
      {start + R"(,"state":{"dtype":"U8","shape":[4]}})", "data_offsets", 4},
      {start + R"(,"state":{"dtype":"U8","shape":4,"data_offsets":[0,4]}})", "header", 4},
      {start + state + float_at("[1,2]", "[4,13]") + "}", "size of its shape", 13},
      {start + state + float_at("[1,2]", "[3,11]") + "}", "instead of", 11},
      {start + state + float_at("[1,2]", "[5,13]") + "}", "instead of", 13},
      {start + state + float_at("[1,2]", "[12,4]") + "}", "outside"},
      {start + state + float_at("[1,2]", "[8,16]") + "}", "outside"},
      {start + state + float_at("[1,2]", "[4,12,12]") + "}", "no place"},
      {start + state + float_at("[1,2]", "[-4,4]") + "}", "not a size"},
      {start + state + float_at("[1,2]", "[4.0,12]") + "}", "not a size"},
      {start + state + float_at("[1,2]", "[4,1e2]") + "}", "not a size"},
      {start + state + float_at("[-1,-2]", "[4,12]") + "}", "not a size"},
      {start + state + float_at("[1,2]", "[18446744073709551612,4]") + "}", "not a size"},
      {start + state + float_at("[1,2]", "[9223372036854775804,9223372036854775807]") + "}",
       "outside"},
      // 2⁶² · 4 bytes is 0 in 64 bits; so is 4 · 2³² · 2³².
      {start + state + float_at("[4611686018427387904]", "[4,4]") + "}", "size of its shape", 4},
      {start + state + float_at("[4294967296,4294967296]", "[4,4]") + "}", "size of its shape", 4},
      {start + state + "}", "it should have"},
  };
  for (const auto& [header, message, data] : cases) {
    put(path, with_header(header, data));
    INFO(header.substr(0, 200));
    CHECK_THROWS_WITH(CheckpointFile(path), ContainsSubstring(message) && ContainsSubstring(path));
    CHECK_THROWS_AS(CheckpointFile(path), DamagedCheckpoint);
  }
}

TEST_CASE("a header's length is not believed") {
  const ScratchFolder folder;
  const std::string path = folder.path("checkpoint");
  for (const char last : {'\x00', '\x01', '\x7F', '\xFF'}) {
    put(path, std::string("\xFF\xFF\xFF\xFF\xFF\xFF\xFF", 7) + last + "{}");
    CHECK_THROWS_WITH(CheckpointFile(path), ContainsSubstring("header should have"));
  }
  // A valid file without tensors.
  put(path, with_header("{}", 0));
  fs::resize_file(path, std::uintmax_t{1} << 31);
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.write("\0\0\0\x40\0\0\0\0", 8);
  file.close();
  CHECK_THROWS_WITH(CheckpointFile(path), ContainsSubstring("header should have"));
}

TEST_CASE("what is no file at all is a damaged checkpoint too") {
  const ScratchFolder folder;
  CHECK_THROWS_WITH(CheckpointFile(folder.path("missing")), ContainsSubstring("No such file"));
  CHECK_THROWS_AS(CheckpointFile(folder.path("missing")), DamagedCheckpoint);
  CHECK_THROWS_WITH(CheckpointFile(folder.path()), ContainsSubstring("not a regular file"));
  REQUIRE(::mkfifo(folder.path("pipe").c_str(), 0600) == 0);
  CHECK_THROWS_AS(CheckpointFile(folder.path("pipe")), DamagedCheckpoint);
}

TEST_CASE("a checkpoint that was removed while it is open can still be read") {
  const ScratchFolder folder;
  const std::string path = folder.path("checkpoint");
  const Saved saved(2, 8);
  write_checkpoint(path, saved.content());
  const CheckpointFile file(path);
  fs::remove(path);
  CHECK(same(vectors_in(file, "x", saved.segments, 2, 8), saved.x));
}

TEST_CASE("a checkpoint that shrinks while it is open is found damaged") {
  const ScratchFolder folder;
  const std::string path = folder.path("checkpoint");
  const Saved saved(2, 8);
  write_checkpoint(path, saved.content());
  const CheckpointFile file(path);
  fs::resize_file(path, fs::file_size(path) / 2);
  CHECK_THROWS_AS(vectors_in(file, "momentum", saved.segments, 2, 8), DamagedCheckpoint);
}

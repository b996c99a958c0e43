#include "engine/base/archive.hpp"

#include <cmath>
#include <limits>

#include "engine/base/rng.hpp"
#include "tests/catch.hpp"

using namespace acid;

namespace {

enum class Colour : std::uint8_t { red, green, blue };

struct Inner {
  double value = 0;
  std::optional<std::string> name;
  template <class Archive>
  void persist(Archive& archive) {
    archive(value, name);
  }
  bool operator==(const Inner&) const = default;
};

struct Outer {
  bool flag = false;
  std::int8_t small = 0;
  std::uint64_t large = 0;
  Colour colour = Colour::red;
  std::string text;
  std::vector<float> floats;
  std::vector<std::vector<std::string>> nested;
  std::vector<bool> bits;
  std::deque<Inner> queue;
  std::map<std::string, std::vector<Inner>> by_name;
  std::map<int, std::map<int, double>> matrix;
  std::optional<std::vector<std::pair<int, Inner>>> maybe;
  template <class Archive>
  void persist(Archive& archive) {
    archive(flag, small, large, colour, text, floats, nested);
    archive(bits, queue, by_name, matrix, maybe);
  }
  bool operator==(const Outer&) const = default;
};

Outer full() {
  return {true,
          -128,
          std::numeric_limits<std::uint64_t>::max(),
          Colour::blue,
          std::string("zero \0 inside", 13),
          {1.5f, -0.0f, std::numeric_limits<float>::infinity()},
          {{}, {"a"}, {"b", "", "c"}},
          {true, false, true},
          {{1.25, "one"}, {-0.0, std::nullopt}},
          {{"none", {}}, {"two", {{2, "x"}, {3, std::nullopt}}}},
          {{1, {{2, 0.5}}}, {-1, {}}},
          {{{7, {7.5, "seven"}}, {8, {8.5, std::nullopt}}}}};
}

template <class T>
std::vector<std::byte> written(const T& value) {
  ArchiveWriter archive;
  archive(value);
  return archive.take();
}

template <class T>
T back(std::span<const std::byte> bytes) {
  T value{};
  ArchiveReader archive(bytes);
  archive(value);
  CHECK(archive.left() == 0);
  return value;
}

}  // namespace

TEST_CASE("an archive gives back what was written, for any nesting") {
  CHECK(back<Outer>(written(full())) == full());
  CHECK(back<Outer>(written(Outer())) == Outer());
  for (const std::size_t size : {0, 1, 63, 64, 65}) {
    std::vector<float> floats(size);
    for (std::size_t k = 0; k < size; ++k) floats[k] = static_cast<float>(k) / 3;
    CHECK(back<std::vector<float>>(written(floats)) == floats);
  }
}

TEST_CASE("what an object held before it is read is forgotten") {
  Outer value = full();
  const auto bytes = written(Outer());
  ArchiveReader archive(bytes);
  archive(value);
  CHECK(value == Outer());
}

TEST_CASE("numbers keep their bits in an archive: signs of zero, NaNs, the ends of the range") {
  CHECK(std::signbit(back<double>(written(-0.0))));
  CHECK(std::isnan(back<float>(written(std::nanf("")))));
  CHECK(back<double>(written(5e-324)) == 5e-324);
  CHECK(back<std::int64_t>(written(std::numeric_limits<std::int64_t>::min())) ==
        std::numeric_limits<std::int64_t>::min());
}

TEST_CASE("the bytes of an archive are the documented ones") {
  const auto bytes = written(std::pair<std::uint16_t, std::string>(0x1234, "ab"));
  const std::vector<std::byte> expected{
      std::byte{0x34}, std::byte{0x12}, std::byte{2}, std::byte{0}, std::byte{0},   std::byte{0},
      std::byte{0},    std::byte{0},    std::byte{0}, std::byte{0}, std::byte{'a'}, std::byte{'b'}};
  CHECK(bytes == expected);
}

TEST_CASE("an archive cut anywhere is an error") {
  const auto bytes = written(full());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    INFO("cut to " << size << " of " << bytes.size() << " bytes");
    Outer value;
    ArchiveReader archive(std::span<const std::byte>(bytes).first(size));
    CHECK_THROWS_AS(archive(value), Error);
  }
}

TEST_CASE("the bytes after what was asked for are left") {
  auto bytes = written(Inner{2, "two"});
  bytes.resize(bytes.size() + 3);
  Inner value;
  ArchiveReader archive(bytes);
  archive(value);
  CHECK(value == Inner{2, "two"});
  CHECK(archive.left() == 3);
}

TEST_CASE("a list that claims to be longer than the archive is an error and takes no memory") {
  for (const std::uint64_t count : {std::uint64_t{9}, std::uint64_t{1} << 40, UINT64_MAX}) {
    auto bytes = written(count);
    bytes.resize(16);
    const auto is_refused = [&](auto value) {
      CHECK_THROWS_AS(ArchiveReader(bytes)(value), Error);
    };
    is_refused(std::string());
    is_refused(std::vector<double>());
    is_refused(std::map<int, int>());
    is_refused(std::deque<Inner>());
  }
}

TEST_CASE("an altered archive is an error or other values, never worse") {
  const auto bytes = written(full());
  Stream stream(3);
  for (int round = 0; round < 20'000; ++round) {
    auto altered = bytes;
    for (int k = 0; k < 3; ++k)
      altered[stream.below(altered.size())] = static_cast<std::byte>(stream.below(256));
    Outer value;
    try {
      ArchiveReader archive(altered);
      archive(value);
      CHECK(written(value).size() <= altered.size());
    } catch (const Error& error) {
      CHECK(error.what() == std::string("the saved state ends early"));
    }
  }
}

TEST_CASE("a random stream goes on where it was saved") {
  Stream stream(5, 9), other(5, 9);
  for (int k = 0; k < 7; ++k) stream.normal();
  const auto bytes = written(stream);
  ArchiveReader archive(bytes);
  archive(other);
  for (int k = 0; k < 20; ++k) {
    CHECK(stream.normal() == other.normal());
    CHECK(stream.next32() == other.next32());
  }
}

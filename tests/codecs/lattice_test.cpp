#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "engine/base/rng.hpp"
#include "tests/catch.hpp"
#include "tests/codecs/made.hpp"

using namespace acid;

namespace {

constexpr Codec::Draw kLatticeDraw{.seed = 7, .sender = 3, .message = 11};
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

constexpr std::size_t kChecked = 4096;  // elements that share a check

std::shared_ptr<const Codec> on_lattice(unsigned bits, double spacing) {
  return test::made("lattice", {{"bits", bits}, {"spacing", spacing}});
}

std::vector<float> uniform(std::size_t size, double low, double high, std::uint64_t seed) {
  Stream stream(seed);
  std::vector<float> values(size);
  for (float& value : values) value = static_cast<float>(stream.uniform(low, high));
  return values;
}

std::vector<float> on_its_lattice(const Codec& codec, std::vector<float> values,
                                  const Codec::Draw& draw = kLatticeDraw) {
  codec.project(draw, values);
  return values;
}

/// The values that a receiver with this key decodes from the message of projected values.
std::vector<float> received(const Codec& codec, std::span<const float> sent,
                            std::span<const float> key) {
  std::vector<float> packed(codec.packed_floats(sent.size())), got(sent.size(), 5.0f);
  codec.pack(kLatticeDraw, sent, packed);
  codec.unpack({.seed = kLatticeDraw.seed, .sender = kLatticeDraw.sender}, packed, key, got);
  return got;
}

bool equal_bits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

double largest_difference(std::span<const float> a, std::span<const float> b) {
  double largest = 0;
  for (std::size_t k = 0; k < a.size(); ++k)
    largest = std::max(largest, std::abs(static_cast<double>(a[k]) - b[k]));
  return largest;
}

/// Sum, and sum of squares, of the errors of one number over many dithers, in units of the spacing.
struct Errors {
  double mean = 0, variance = 0;
  static constexpr int kDraws = 200'000;
  Errors(const Codec& codec, double spacing, float value) {
    const std::size_t size = 1000;
    const std::vector<float> values(size, value);
    for (std::uint64_t message = 0; message < kDraws / size; ++message)
      for (const float got :
           on_its_lattice(codec, values, {.seed = 1, .sender = 0, .message = message})) {
        const double error = (static_cast<double>(got) - value) / spacing;
        mean += error / kDraws;
        variance += error * error / kDraws;
      }
  }
};

}  // namespace

TEST_CASE("CORRECTNESS 26: a lattice is off by half a spacing at most, within its radius") {
  for (const unsigned bits : {2u, 3u, 5u, 8u, 13u, 16u})
    for (const std::size_t size : {1, 31, 64, 65, 4095, 4096, 4097, 9000}) {
      const auto codec = on_lattice(bits, 0.01);
      INFO(bits << " bits, " << size << " elements");
      const std::vector<float> x = uniform(size, -1, 1, size);
      std::vector<float> key = x;
      Stream stream(bits);
      for (float& value : key)
        value += static_cast<float>(stream.uniform(-1, 1) * (0.01 * ((1 << bits) - 1) / 2 - 0.006));
      const std::vector<float> sent = on_its_lattice(*codec, x);
      CHECK(largest_difference(sent, x) <= 0.005 + 1e-7);
      CHECK(equal_bits(received(*codec, sent, key), sent));
    }
}

TEST_CASE("CORRECTNESS 26: a lattice is unbiased, its variance a twelfth of the spacing's square") {
  const auto codec = on_lattice(8, 0.25);
  // Standard errors: √(1/12 / draws), and √(1/180 / draws) of the variance.
  for (const float value : {0.0f, 0.1f, 0.125f, 0.17f, 1000.1f, -31.3f}) {
    const Errors errors(*codec, 0.25, value);
    INFO(value << ": mean " << errors.mean << ", variance " << errors.variance << ", draws "
               << Errors::kDraws);
    CHECK(std::abs(errors.mean) < 3 * std::sqrt(1.0 / 12 / Errors::kDraws));
    CHECK(std::abs(errors.variance - 1.0 / 12) < 3 * std::sqrt(1.0 / 180 / Errors::kDraws));
  }
}

TEST_CASE("CORRECTNESS 26: the error is of the spacing, not of how large the vector is") {
  // A power of two, so that no rounding to single precision is in the way.
  const auto codec = on_lattice(8, 0x1p-6);
  const std::vector<float> near = uniform(2000, -1, 1, 5);
  for (const float far : {0.0f, 1.0f, 64.0f, 4096.0f}) {
    std::vector<float> x = near, key = near;
    for (std::size_t k = 0; k < x.size(); ++k) {
      x[k] += far;
      key[k] = x[k] + 1;
    }
    const std::vector<float> got = received(*codec, on_its_lattice(*codec, x), key);
    CHECK(largest_difference(got, x) <= 0x1p-7 + far * 0x1p-24);
  }
}

TEST_CASE("CORRECTNESS 26: in single precision at 100 only the rounding of 100 is added") {
  constexpr double kLargest = 0.01;
  const auto codec = on_lattice(8, 2 * kLargest / 255);
  const std::vector<float> x = uniform(2000, 99, 101, 9), to = uniform(2000, -0.0099, 0.0099, 10);
  std::vector<float> key = x;
  for (std::size_t k = 0; k < key.size(); ++k) key[k] += to[k];
  const std::vector<float> got = received(*codec, on_its_lattice(*codec, x), key);
  // Computed in single precision throughout it would be 1.6 halves.
  CHECK(largest_difference(got, x) <= kLargest / 255 + 0x1p-18);
  CHECK(largest_difference(got, x) > 0.9 * kLargest / 255);
}

TEST_CASE("CORRECTNESS 26: outside its radius a lattice is off by multiples, which is detected") {
  const auto codec = on_lattice(4, 1);
  // One element of the second block is too far away; then of the last, which is short.
  for (const std::size_t at : {std::size_t{5000}, std::size_t{8200}}) {
    const std::vector<float> sent = on_its_lattice(*codec, uniform(8203, -2, 2, 4));
    for (const double factor : {8.6, 12.0, 16.0, 31.0, -8.6, -1e4}) {
      INFO("element " << at << ", key " << factor << " spacings away");
      std::vector<float> key = sent;
      key[at] += static_cast<float>(factor);
      const std::vector<float> got = received(*codec, sent, key);
      const std::size_t first = at / kChecked * kChecked;
      const std::size_t last = std::min(first + kChecked, sent.size());
      for (std::size_t k = 0; k < sent.size(); ++k)
        if (std::isnan(got[k]) != (k >= first && k < last)) FAIL("element " << k);
      CHECK(equal_bits(std::span(got).first(first), std::span(sent).first(first)));
    }
  }
}

TEST_CASE("both ends of a lattice find its gaps by themselves") {
  const auto codec = on_lattice(4, 1);
  Stream stream(8);
  int gaps = 0, blocks = 0;
  for (int trial = 0; trial < 300; ++trial) {
    std::vector<float> a = uniform(9000, -3, 3, 100 + trial), b = a;
    for (std::size_t k = 0; k < 3; ++k)  // around the radius of 7.5
      b[stream.below(b.size())] += static_cast<float>(stream.uniform(6, 10));
    if (trial % 10 == 0) a[stream.below(a.size())] = 1e9f;
    if (trial % 10 == 1) a[17] = b[17] = kNaN;
    a = on_its_lattice(*codec, a);
    b = on_its_lattice(*codec, b, {.seed = kLatticeDraw.seed, .sender = 4, .message = 2});
    const auto both = codec->gaps(a, b);
    // As an end has it that unpacks a with b as its key, and the other way round.
    const std::vector<float> got = received(*codec, a, b);
    CHECK(codec->gaps(b, got) == both);
    CHECK(codec->gaps(got, b) == both);
    std::vector<float> filled = got;
    for (const auto& [first, last] : both) {
      std::copy(a.begin() + static_cast<std::ptrdiff_t>(first),
                a.begin() + static_cast<std::ptrdiff_t>(last),
                filled.begin() + static_cast<std::ptrdiff_t>(first));
      ++gaps;
    }
    blocks += 3;
    CHECK(equal_bits(filled, a));
  }
  CHECK(gaps > blocks / 10);
  CHECK(gaps < blocks);
}

TEST_CASE("what single precision cannot tell apart as finely stays as it is on a lattice") {
  const auto codec = on_lattice(8, 1e-3);
  const std::vector<float> large = {1e9f, -5e3f, std::numeric_limits<float>::infinity()};
  CHECK(on_its_lattice(*codec, large) == large);
  CHECK(codec->gaps(large, large).size() == 1);
}

TEST_CASE("CORRECTNESS 37: a lattice sends its bits, a check of each 4,096 and its number") {
  CHECK(on_lattice(8, 1)->packed_floats(1000) == 1 + 1 + 250);
  CHECK(on_lattice(3, 1)->packed_floats(4097) == 1 + 2 + 385);
}

#include "engine/codecs/codec.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "engine/base/rng.hpp"
#include "engine/codecs/packed_message.hpp"
#include "engine/methods/listed.hpp"
#include "engine/worker/worker.hpp"
#include "tests/catch.hpp"
#include "tests/codecs/made.hpp"
#include "tests/scratch.hpp"

using namespace acid;
using nlohmann::json;
using test::made;

namespace {

constexpr Codec::Draw kDraw{.seed = 7, .sender = 3, .message = 11};

std::vector<float> random_vector(std::size_t size, std::uint64_t seed) {
  Stream stream(seed);
  std::vector<float> values(size);
  for (float& value : values) value = static_cast<float>(stream.normal());
  return values;
}

/// By what they are: every kind of the catalog, and some with other options.
std::vector<std::pair<std::string, std::shared_ptr<const Codec>>> codecs() {
  std::vector<std::pair<std::string, std::shared_ptr<const Codec>>> all;
  for (const CodecEntry& entry : codec_catalog())
    if (entry.make != nullptr) all.emplace_back(entry.name, made(entry.name));
  all.emplace_back("top-k, 0.1", made("top-k", {{"share", 0.1}}));
  all.emplace_back("top-k in chunks", made("top-k", {{"share", 0.25}, {"chunk", 10}}));
  all.emplace_back("common random-k", made("random-k", {{"common", true}}));
  return all;
}

std::vector<float> projected(const std::shared_ptr<const Codec>& codec, std::vector<float> values,
                             const Codec::Draw& draw = kDraw) {
  codec->project(draw, values);
  return values;
}

bool same_bits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

}  // namespace

TEST_CASE("what is unpacked is what the sender has, to the bit") {
  const std::vector<float> infinite{std::numeric_limits<float>::infinity()};
  for (const auto& [name, codec] : codecs())
    for (const std::size_t size : {1, 2, 7, 31, 32, 33, 100, 1000}) {
      INFO(name << " of " << size);
      std::vector<float> values = random_vector(size, size);
      if (size > 30) {
        values[3] = -0.0f;
        values[5] = 1e-42f;
        values[7] = std::numeric_limits<float>::infinity();
        std::fill(values.begin() + 8, values.begin() + 28, 0.0f);
      }
      const std::vector<float> sent = projected(codec, values);
      std::vector<float> packed(codec->packed_floats(size)), got(size, 5.0f);
      codec->pack(kDraw, sent, packed);
      codec->unpack({.seed = kDraw.seed, .sender = kDraw.sender}, packed, sent, got);
      for (const auto& [first, last] : codec->gaps(sent, got))  // these travel as they are
        std::copy(sent.begin() + static_cast<std::ptrdiff_t>(first),
                  sent.begin() + static_cast<std::ptrdiff_t>(last),
                  got.begin() + static_cast<std::ptrdiff_t>(first));
      CHECK(same_bits(got, sent));
      CHECK(codec->has_gaps() == !codec->gaps(infinite, infinite).empty());
    }
}

TEST_CASE("CORRECTNESS 37: every codec's bytes are those of its form") {
  const std::map<std::string_view, std::size_t> of_a_thousand{
      {"bf16", 500},
      {"sign", 1 + 32},
      {"random-k", 300 + 1},  // made() gives a share of 0.3
      {"top-k", 300 + 94},    // ten bits name one of a thousand
      {"lattice", 250 + 1 + 1}};
  for (const CodecEntry& entry : codec_catalog()) {
    if (entry.make == nullptr) continue;
    INFO(entry.name);
    REQUIRE(of_a_thousand.contains(entry.name));
    CHECK(made(entry.name)->packed_floats(1000) == of_a_thousand.at(entry.name));
  }
  CHECK(made("bf16")->packed_floats(1001) == 501);
  CHECK(made("top-k", {{"share", 0.5}, {"chunk", 4}})->packed_floats(10) == 5 + 1);
}

TEST_CASE("METHODS.md has every codec") {
  const std::string page = test::content_of(SOURCE_ROOT "/docs/METHODS.md");
  for (const CodecEntry& entry : codec_catalog()) {
    INFO(entry.name);
    CHECK(
        (entry.make == nullptr || page.find(fmt::format("\n| `{}` | ", entry.name)) != page.npos));
  }
}

TEST_CASE("a message of no elements has no bytes with any codec") {
  for (const auto& [name, codec] : codecs()) {
    INFO(name);
    const AlgorithmEntry* const entry = find_algorithm("d-psgd");
    const json options = with_fallbacks(entry->fields, json::object());
    const PackedMessage form(method_of(*entry, options, nullptr).rules.floats, 0, codec, 7);
    CHECK(form.bytes() == 0);
  }
}

TEST_CASE("top-k keeps the largest magnitudes, ties to the lower index") {
  const std::vector<float> values{1, -3, 2, 3, -1, 0.5f};
  CHECK(projected(made("top-k", {{"share", 1.0 / 3}}), values) ==
        std::vector<float>{0, -3, 0, 3, 0, 0});
  CHECK(projected(made("top-k", {{"share", 0.5}, {"chunk", 2}}), values) ==
        std::vector<float>{0, -3, 0, 3, -1, 0});
  CHECK(projected(made("top-k", {{"share", 1e-9}}), {2, 2, 2}) == std::vector<float>{2, 0, 0});
}

TEST_CASE("sign sends the mean magnitude, bf16 the nearest of its numbers") {
  CHECK(projected(made("sign"), {1, -2, 3, -0.0f}) == std::vector<float>{1.5, -1.5, 1.5, -1.5});
  const std::vector<float> rounded =
      projected(made("bf16"), {1.0f, 1.00390625f, 1.01171875f, -3.14159274f});
  CHECK(rounded == std::vector<float>{1.0f, 1.0f, 1.015625f, -3.140625f});
}

TEST_CASE("random-k draws anew for each message and sender, unless it is common to all") {
  const std::vector<float> ones(1000, 1.0f);
  const auto drawn = [&](bool common, std::uint32_t sender, std::uint64_t message) {
    return projected(made("random-k", {{"share", 0.1}, {"common", common}}), ones,
                     {.seed = 1, .sender = sender, .message = message});
  };
  CHECK(std::ranges::count(drawn(false, 0, 0), 1.0f) == 100);
  CHECK(drawn(false, 0, 0) == drawn(false, 0, 0));
  CHECK(drawn(false, 0, 0) != drawn(false, 0, 1));
  CHECK(drawn(false, 0, 0) != drawn(false, 1, 0));
  CHECK(drawn(true, 0, 5) == drawn(true, 1, 5));
  CHECK(drawn(true, 0, 5) != drawn(true, 0, 6));
}

TEST_CASE("CORRECTNESS 37: with error feedback what was sent and what is kept is what was to be") {
  const AlgorithmEntry* const entry = find_algorithm("d-psgd");
  json options = with_fallbacks(entry->fields, json::object());
  options["codec"] = {{"kind", "top-k"}, {"share", 0.05}, {"chunk", 0}, {"error_feedback", true}};
  const Method method = method_of(*entry, options, nullptr);
  constexpr std::size_t kSize = 200;
  WorkerSettings settings;
  settings.dimension = kSize;
  settings.decay = {{0, kSize, 0.0}};
  settings.follow(method.rules);
  WorkerMemory<float> memory(settings, 1);
  Worker worker(settings, memory);
  // Whole numbers, whose sums are exact.
  std::vector<float> x(kSize), sent(kSize), total(kSize);
  Stream stream(3);
  for (float& value : x) value = static_cast<float>(stream.below(2001)) - 1000;
  worker.start(x);
  const std::vector<kernels::Weighted<float>> alone{{x.data(), 0}};
  for (int exchange = 1; exchange <= 50; ++exchange) {
    worker.offer(0, sent);
    CHECK(std::ranges::count_if(sent, [](float value) { return value != 0; }) <= 10);
    worker.hear(0, {.sources = alone});  // x stays as it is
    for (std::size_t k = 0; k < kSize; ++k) {
      total[k] += sent[k];
      CHECK(total[k] + worker.slot("error0")[k] == static_cast<float>(exchange) * x[k]);
    }
  }
}

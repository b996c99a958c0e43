#include "engine/codecs/codec.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

#include "engine/base/rng.hpp"
#include "engine/methods/listed.hpp"
#include "engine/worker/worker.hpp"
#include "tests/catch.hpp"

using namespace acid;
using nlohmann::json;

namespace {

constexpr Codec::Draw kDraw{.seed = 7, .sender = 3, .message = 11};

std::vector<float> random_vector(std::size_t size, std::uint64_t seed) {
  Stream stream(seed);
  std::vector<float> values(size);
  for (float& value : values) value = static_cast<float>(stream.normal());
  return values;
}

std::vector<Codec> codecs() {
  return {{.kind = CodecKind::bf16},
          {.kind = CodecKind::sign},
          {.kind = CodecKind::top_k, .share = 0.1},
          {.kind = CodecKind::top_k, .share = 0.25, .chunk = 10},
          {.kind = CodecKind::random_k, .share = 0.3},
          {.kind = CodecKind::random_k, .share = 0.3, .common = true}};
}

std::vector<float> projected(const Codec& codec, std::vector<float> values,
                             const Codec::Draw& draw = kDraw) {
  codec.project(draw, values);
  return values;
}

bool same_bits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

}  // namespace

TEST_CASE("what is unpacked is what the sender has, to the bit") {
  for (const Codec& codec : codecs())
    for (const std::size_t size : {1, 2, 7, 31, 32, 33, 100, 1000}) {
      INFO("kind " << static_cast<int>(codec.kind) << " of " << size);
      std::vector<float> values = random_vector(size, size);
      if (size > 30) {
        values[3] = -0.0f;
        values[5] = 1e-42f;
        values[7] = std::numeric_limits<float>::infinity();
        std::fill(values.begin() + 8, values.begin() + 28, 0.0f);
      }
      const std::vector<float> sent = projected(codec, values);
      std::vector<float> packed(codec.packed_floats(size), 3.0f), got(size, 5.0f);
      codec.pack(kDraw, sent, packed);
      codec.unpack({.seed = kDraw.seed, .sender = kDraw.sender}, packed, {}, got);
      CHECK(same_bits(got, sent));
    }
}

TEST_CASE("CORRECTNESS 37: every codec's bytes are those of its form") {
  CHECK(Codec{.kind = CodecKind::bf16}.packed_floats(1001) == 501);
  CHECK(Codec{.kind = CodecKind::sign}.packed_floats(1000) == 1 + 32);
  CHECK(Codec{.kind = CodecKind::random_k, .share = 0.1}.packed_floats(1000) == 101);
  // Ten bits number one of a thousand.
  CHECK(Codec{.kind = CodecKind::top_k, .share = 0.1}.packed_floats(1000) == 100 + 32);
  CHECK(Codec{.kind = CodecKind::top_k, .share = 0.5, .chunk = 4}.packed_floats(10) == 5 + 1);
}

TEST_CASE("top-k keeps the largest magnitudes, ties to the lower index") {
  const std::vector<float> values{1, -3, 2, 3, -1, 0.5f};
  CHECK(projected({.kind = CodecKind::top_k, .share = 1.0 / 3}, values) ==
        std::vector<float>{0, -3, 0, 3, 0, 0});
  CHECK(projected({.kind = CodecKind::top_k, .share = 0.5, .chunk = 2}, values) ==
        std::vector<float>{0, -3, 0, 3, -1, 0});
  CHECK(projected({.kind = CodecKind::top_k, .share = 1e-9}, {2, 2, 2}) ==
        std::vector<float>{2, 0, 0});
}

TEST_CASE("sign sends the mean magnitude, bf16 the nearest of its numbers") {
  CHECK(projected({.kind = CodecKind::sign}, {1, -2, 3, -0.0f}) ==
        std::vector<float>{1.5, -1.5, 1.5, -1.5});
  const std::vector<float> rounded =
      projected({.kind = CodecKind::bf16}, {1.0f, 1.00390625f, 1.01171875f, -3.14159274f});
  CHECK(rounded == std::vector<float>{1.0f, 1.0f, 1.015625f, -3.140625f});
}

TEST_CASE("random-k draws anew for each message and sender, unless it is common to all") {
  const std::vector<float> ones(1000, 1.0f);
  const auto drawn = [&](bool common, std::uint32_t sender, std::uint64_t message) {
    return projected({.kind = CodecKind::random_k, .share = 0.1, .common = common}, ones,
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

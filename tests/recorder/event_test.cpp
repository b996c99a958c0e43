#include "engine/recorder/event.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "engine/base/rng.hpp"
#include "tests/catch.hpp"
#include "tests/processor_time.hpp"

using namespace acid;

namespace {

std::vector<float> some_vector(std::size_t size) {
  Stream stream(1, size);
  std::vector<float> x(size);
  for (float& value : x) value = static_cast<float>(stream.normal());
  return x;
}

struct Numbered {
  Event event;
  int worker = 0;
  std::int64_t number = 0;
};

// Events of every kind, with odd times and the ends of each range.
std::vector<Numbered> some_events() {
  Stream stream(2);
  std::vector<Numbered> events{
      {{EventKind::begin_gradient, 0.0, 0, 0}, 0, 0},
      {{EventKind::checkpoint, -0.0, kExchangeMask, 0xFFFFFFFF}, 1 << 30, std::int64_t{1} << 62},
      {{EventKind::apply, std::numeric_limits<double>::infinity(), 1, 1}, 0, 1},
      {{EventKind::offer, std::nan(""), 0xABC, 0x12345678}, 1, 0},
  };
  for (int kind = 0; kind < kEventKinds; ++kind)
    events.push_back({{static_cast<EventKind>(kind), stream.exponential() * 1000,
                       stream.below(kExchangeMask + 1), stream.next32()},
                      static_cast<int>(stream.below(1000)),
                      static_cast<std::int64_t>(stream.below(1 << 30))});
  return events;
}

// FNV-1a, a byte at a time: the fingerprint must be faster than this.
std::uint32_t hash_of_bytes(const std::vector<float>& x) {
  std::uint32_t hash = 2166136261u;
  for (const std::byte byte : std::as_bytes(std::span(x)))
    hash = (hash ^ std::to_integer<std::uint32_t>(byte)) * 16777619u;
  return hash;
}

bool is_refused(const EventBytes& bytes, int worker, std::int64_t number) {
  try {
    decode_event(bytes, worker, number);
  } catch (const DamagedEvent& damage) {
    return damage.worker() == worker && damage.number() == number;
  }
  return false;
}

}  // namespace

TEST_CASE("every kind of event has a name of its own") {
  std::set<std::string> names;
  for (int kind = 0; kind < kEventKinds; ++kind)
    names.insert(event_name(static_cast<EventKind>(kind)));
  CHECK(names.size() == kEventKinds);
  CHECK(names.count("unknown") == 0);
  CHECK(event_name(EventKind::commit_and_begin) == std::string("commit_and_begin"));
  CHECK(event_name(EventKind::checkpoint) == std::string("checkpoint"));
}

TEST_CASE("an event comes back from its sixteen bytes") {
  for (const auto& [event, worker, number] : some_events()) {
    INFO(event_name(event.kind) << " of worker " << worker);
    const Event back = decode_event(encode_event(event, worker, number), worker, number);
    CHECK(back.kind == event.kind);
    CHECK(std::memcmp(&back.time, &event.time, sizeof event.time) == 0);
    CHECK(back.exchange == event.exchange);
    CHECK(back.fingerprint == event.fingerprint);
  }
}

TEST_CASE("of an exchange's number the lowest bits are kept") {
  const Event event{EventKind::exchange, 1.5, 0x123456789ABC, 7};
  const Event back = decode_event(encode_event(event, 0, 0), 0, 0);
  CHECK(back.exchange == 0xABC);
  CHECK(back.kind == EventKind::exchange);
}

TEST_CASE("the layout of an event's bytes is the documented one") {
  const Event event{EventKind::exchange, 2.5, 0x5432, 0xAABBCCDD};
  const EventBytes bytes = encode_event(event, 3, 1234);
  // The expected check is Python's binascii.crc_hqx(data, 0xFFFF) of struct.pack("<iq", 3, 1234)
  // and the 14 bytes before the check.
  const unsigned char expected[kEventBytes] = {0,    0,    0,    0,    0,    0,    0x04, 0x40,
                                               0xDD, 0xCC, 0xBB, 0xAA, 0x23, 0x43, 0x2A, 0x84};
  CHECK(std::memcmp(bytes.data(), expected, kEventBytes) == 0);
}

TEST_CASE("a flipped bit anywhere in an event is found") {
  for (const auto& [event, worker, number] : some_events()) {
    const EventBytes bytes = encode_event(event, worker, number);
    for (std::size_t bit = 0; bit < 8 * kEventBytes; ++bit) {
      INFO(event_name(event.kind) << ", bit " << bit);
      EventBytes altered = bytes;
      altered[bit / 8] ^= std::byte{1} << (bit % 8);
      CHECK(is_refused(altered, worker, number));
    }
  }
}

TEST_CASE("two flipped bits, or sixteen in a row, are found") {
  const auto [event, worker, number] = some_events().back();
  const EventBytes bytes = encode_event(event, worker, number);
  for (std::size_t first = 0; first < 8 * kEventBytes; ++first)
    for (std::size_t second = first + 1; second < 8 * kEventBytes; ++second) {
      EventBytes two = bytes, run = bytes;
      for (const std::size_t bit : {first, second}) two[bit / 8] ^= std::byte{1} << (bit % 8);
      for (std::size_t bit = first; bit <= std::min(second, first + 15); ++bit)
        run[bit / 8] ^= std::byte{1} << (bit % 8);
      INFO("bits " << first << " and " << second);
      CHECK(is_refused(two, worker, number));
      CHECK(is_refused(run, worker, number));
    }
}

TEST_CASE("an event of another worker or at another place is found") {
  const auto [event, worker, number] = some_events().back();
  const EventBytes bytes = encode_event(event, worker, number);
  for (int bit = 0; bit < 16; ++bit) {
    CHECK(is_refused(bytes, worker ^ (1 << bit), number));
    CHECK(is_refused(bytes, worker, number ^ (std::int64_t{1} << bit)));
  }
  CHECK(is_refused(bytes, worker, number + 1));
}

TEST_CASE("a kind that does not exist is refused even when the check agrees") {
  const auto unknown = static_cast<EventKind>(kEventKinds);
  CHECK(is_refused(encode_event({unknown, 1.0, 0, 0}, 0, 0), 0, 0));
  CHECK(event_name(unknown) == std::string("unknown"));
}

TEST_CASE("the message of a damaged event names the event and the worker") {
  CHECK(DamagedEvent(3, 1234).what() ==
        std::string("event 1234 of worker 3 in the event log was altered"));
}

TEST_CASE("a full fingerprint sees every bit of every element") {
  for (const std::size_t size : {1, 2, 3, 7, 8, 9, 15, 16, 17, 63, 64, 65}) {
    std::vector<float> x = some_vector(size);
    const std::uint32_t before = full_fingerprint(x);
    for (std::size_t i = 0; i < size; ++i)
      for (int bit = 0; bit < 32; ++bit) {
        INFO("size " << size << ", element " << i << ", bit " << bit);
        const float kept = x[i];
        std::uint32_t bits = 0;
        std::memcpy(&bits, &x[i], sizeof bits);
        bits ^= std::uint32_t{1} << bit;
        std::memcpy(&x[i], &bits, sizeof bits);
        CHECK(full_fingerprint(x) != before);
        x[i] = kept;
      }
  }
}

TEST_CASE("a full fingerprint sees order, length, signs of zero, and stands NaNs") {
  std::vector<float> x = some_vector(65);
  const std::uint32_t before = full_fingerprint(x);
  for (std::size_t i = 1; i < x.size(); ++i) {
    std::swap(x[i - 1], x[i]);
    CHECK(full_fingerprint(x) != before);
    std::swap(x[i - 1], x[i]);
  }
  std::set<std::uint32_t> by_length;
  const std::vector<float> zeros(40);
  for (std::size_t size = 0; size <= zeros.size(); ++size)
    by_length.insert(full_fingerprint(std::span(zeros).first(size)));
  CHECK(by_length.size() == zeros.size() + 1);
  CHECK(full_fingerprint(std::vector<float>{0.0f}) != full_fingerprint(std::vector<float>{-0.0f}));
  const std::vector<float> nans(20, std::nanf(""));
  CHECK(full_fingerprint(nans) == full_fingerprint(std::vector<float>(nans)));
}

TEST_CASE("a fingerprint does not depend on where in memory the vector lies") {
  const std::vector<float> x = some_vector(1000);
  std::vector<float> moved(x.size() + 16);
  for (std::size_t shift = 0; shift < 16; ++shift) {
    std::copy(x.begin(), x.end(), moved.begin() + static_cast<std::ptrdiff_t>(shift));
    const auto copy = std::span<const float>(moved).subspan(shift, x.size());
    CHECK(full_fingerprint(copy) == full_fingerprint(x));
    CHECK(sampled_fingerprint(copy, 5) == sampled_fingerprint(x, 5));
  }
}

TEST_CASE("a full fingerprint does not depend on the pieces that the vector comes in") {
  std::vector<float> x(1013);
  for (std::size_t k = 0; k < x.size(); ++k) x[k] = static_cast<float>(k) - 500.5F;
  for (const std::size_t step : {std::size_t{8}, std::size_t{64}, x.size(), 2 * x.size()}) {
    FullFingerprint pieces(x.size());
    for (std::size_t first = 0; first < x.size(); first += step)
      pieces.add(std::span(x).subspan(first, std::min(step, x.size() - first)));
    CHECK(pieces.value() == full_fingerprint(x));
  }
}

TEST_CASE("a short vector's sampled fingerprint is that of the whole") {
  for (std::size_t size = 0; size <= 16; ++size) {
    const std::vector<float> x = some_vector(size);
    CHECK(sampled_fingerprint(x, size) == full_fingerprint(x));
  }
}

TEST_CASE("sampled fingerprints look at sixteen elements, one of each sixteenth, in time at all") {
  for (const std::size_t size : {17, 31, 32, 33, 63, 64, 65, 1000}) {
    std::vector<float> x = some_vector(size);
    std::vector<bool> seen(size);
    const std::size_t salts = 4 * (size / 16 + 1);
    for (std::uint64_t salt = 0; salt < salts; ++salt) {
      const std::uint32_t before = sampled_fingerprint(x, salt);
      std::set<std::size_t> sixteenths;
      for (std::size_t i = 0; i < size; ++i) {
        x[i] = -x[i];
        if (sampled_fingerprint(x, salt) != before) {
          seen[i] = true;
          std::size_t k = 0;
          while ((k + 1) * size / 16 <= i) ++k;
          CHECK(sixteenths.insert(k).second);
        }
        x[i] = -x[i];
      }
      CHECK(sixteenths.size() == 16);
    }
    INFO("size " << size);
    CHECK(std::count(seen.begin(), seen.end(), true) == static_cast<std::ptrdiff_t>(size));
  }
}

TEST_CASE("fingerprints of many different vectors rarely meet") {
  std::set<std::uint32_t> fingerprints;
  std::vector<float> x = some_vector(64);
  constexpr std::size_t kVectors = 20000;
  for (std::size_t k = 0; k < kVectors; ++k) {
    x[k % 64] = std::nextafter(x[k % 64], 10.0f);
    fingerprints.insert(full_fingerprint(x));
  }
  // 0.05 pairs are expected to meet among random 32-bit numbers.
  CHECK(fingerprints.size() >= kVectors - 3);
}

// A loose bound: a tenth of the time is usual.
TEST_CASE("full fingerprints are taken a word at a time") {
  const std::vector<float> x = some_vector(1 << 18);
  double fingerprint_seconds = 1e9, byte_seconds = 1e9;
  std::set<std::uint32_t> fingerprints, hashes;
  for (int round = 0; round < 20; ++round) {
    const test::ProcessorTime whole(test::ProcessorTime::Of::thread);
    fingerprints.insert(full_fingerprint(x));
    fingerprint_seconds = std::min(fingerprint_seconds, whole.seconds());
    const test::ProcessorTime bytes(test::ProcessorTime::Of::thread);
    hashes.insert(hash_of_bytes(x));
    byte_seconds = std::min(byte_seconds, bytes.seconds());
  }
  CHECK(fingerprints.size() == 1);
  CHECK(hashes.size() == 1);
#ifdef NDEBUG
  INFO(byte_seconds << " s a byte at a time, " << fingerprint_seconds << " s");
  CHECK(fingerprint_seconds < byte_seconds / 3);
#endif
}

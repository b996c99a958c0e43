// The event log's records: bytes are decoded exactly or refused, and a single altered bit is always
// found.
#include <bit>

#include "engine/recorder/event.hpp"
#include "tests/fuzz/input.hpp"

namespace acid::fuzz {
namespace {

Event event_of(Input& input) {
  Event event;
  event.kind = static_cast<EventKind>(input.below(kEventKinds));
  event.time = input.number<double>();
  event.exchange = input.number<std::uint64_t>();
  event.fingerprint = input.number<std::uint32_t>();
  return event;
}

void expect_same(const Event& a, const Event& b) {
  ACID_ASSERT(a.kind == b.kind, "{} is not {}", event_name(a.kind), event_name(b.kind));
  // Compares bits, not values: a time that is NaN keeps its bits, too.
  ACID_ASSERT(std::bit_cast<std::uint64_t>(a.time) == std::bit_cast<std::uint64_t>(b.time),
              "{} is not {}", a.time, b.time);
  ACID_ASSERT((a.exchange & kExchangeMask) == (b.exchange & kExchangeMask), "{} is not {}",
              a.exchange, b.exchange);
  ACID_ASSERT(a.fingerprint == b.fingerprint, "{} is not {}", a.fingerprint, b.fingerprint);
}

// Decodes bytes as a store could hold them.
void decode(Input& input, int worker, std::int64_t number) {
  for (; input.left() >= kEventBytes; ++number) {
    EventBytes bytes{};
    std::memcpy(bytes.data(), input.bytes(kEventBytes).data(), kEventBytes);
    accepted([&] {
      const Event event = decode_event(bytes, worker, number);
      ACID_ASSERT(encode_event(event, worker, number) == bytes, "not the bytes it was read from");
    });
  }
}

// Encodes and decodes an event, then flips a bit.
void encode(Input& input, int worker, std::int64_t number) {
  const Event event = event_of(input);
  EventBytes bytes = encode_event(event, worker, number);
  expect_same(event, decode_event(bytes, worker, number));
  const std::size_t bit = input.below(8 * kEventBytes);
  bytes[bit / 8] ^= std::byte{1} << (bit % 8);
  ACID_ASSERT(!accepted([&] { decode_event(bytes, worker, number); }), "bit {} went unnoticed",
              bit);
}

}  // namespace
}  // namespace acid::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace acid::fuzz;
  Input input(data, size);
  const bool raw = input.below(2) == 0;
  const int worker = input.number<std::uint16_t>();
  const std::int64_t number = input.number<std::uint32_t>();
  raw ? decode(input, worker, number) : encode(input, worker, number);
  return 0;
}

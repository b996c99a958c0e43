#include "engine/recorder/event.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace acid {
namespace {

constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15;  // 2⁶⁴ ÷ the golden ratio, odd
constexpr std::uint64_t kOdd = 0xD6E8FEB86659FD93;
constexpr std::size_t kSampled = 16;

// Multiply-mix over 64-bit words in independent lanes, so that multiplications overlap. Every step
// is a bijection of the entering word: a change of one word always changes the 64 bits from which
// the fingerprint is cut.
void mix(std::uint64_t& lane, std::uint64_t word) { lane = std::rotl((lane ^ word) * kOdd, 29); }

/// ⌊fraction/2⁶⁴ · size⌋ for sizes below 2³²; only the upper 32 bits of the fraction count.
std::size_t scaled(std::uint64_t fraction, std::size_t size) {
  return (fraction >> 32) * size >> 32;
}

// The bitwise definition is CRC-16/CCITT-FALSE: polynomial 0x1021, from 0xFFFF, not reflected.
constexpr std::array<std::uint16_t, 256> crc_table() {
  std::array<std::uint16_t, 256> table{};
  for (unsigned byte = 0; byte < 256; ++byte) {
    unsigned rest = byte << 8;
    for (int bit = 0; bit < 8; ++bit) rest = (rest & 0x8000) != 0 ? rest << 1 ^ 0x1021 : rest << 1;
    table[byte] = static_cast<std::uint16_t>(rest);
  }
  return table;
}
constexpr auto kCrcTable = crc_table();

std::uint16_t crc16(std::span<const std::byte> bytes) {
  unsigned crc = 0xFFFF;
  for (const std::byte byte : bytes)
    crc = (crc << 8 & 0xFFFF) ^ kCrcTable[crc >> 8 ^ std::to_integer<unsigned>(byte)];
  return static_cast<std::uint16_t>(crc);
}

constexpr std::size_t kFingerprintAt = 8, kKindAt = 12, kCheckAt = 14;

// CRCs are linear: one flipped bit of the event, or of the check itself, never passes.
std::uint16_t check_of(std::span<const std::byte, kEventBytes> bytes, int worker,
                       std::int64_t number) {
  const auto owner = static_cast<std::int32_t>(worker);
  std::array<std::byte, sizeof owner + sizeof number + kCheckAt> all;
  std::memcpy(all.data(), &owner, sizeof owner);
  std::memcpy(all.data() + sizeof owner, &number, sizeof number);
  std::memcpy(all.data() + sizeof owner + sizeof number, bytes.data(), kCheckAt);
  return crc16(all);
}

// The position in x of element k of the sample: one element of each sixteenth of x. Within a
// sixteenth, successive salts step by the golden ratio, which spreads them evenly: all of its
// elements are chosen within about three times as many salts. The sixteenths are out of step, so
// that the sample is not one column of a matrix.
std::size_t sampled_position(std::size_t size, std::uint64_t salt, std::size_t k) {
  const std::size_t first = k * size / kSampled;
  return first + scaled(salt * kGolden + k * kOdd, (k + 1) * size / kSampled - first);
}

}  // namespace

const char* event_name(EventKind kind) {
  static constexpr std::array<const char*, kEventKinds> kNames{
      "begin_gradient", "commit_gradient", "commit_and_begin", "exchange",   "offer",
      "apply",          "assign",          "measured",         "checkpoint", "lost"};
  const auto index = static_cast<std::size_t>(kind);
  return index < kNames.size() ? kNames[index] : "unknown";
}

std::uint32_t sampled_fingerprint(std::span<const float> x, std::uint64_t salt) {
  if (x.size() <= kSampled) return full_fingerprint(x);
  float values[kSampled];
  for (std::size_t k = 0; k < kSampled; ++k) values[k] = x[sampled_position(x.size(), salt, k)];
  return full_fingerprint(values);
}

std::uint32_t sampled_fingerprint(std::size_t size, std::uint64_t salt,
                                  const GatherElements& gather) {
  const std::size_t count = std::min(size, kSampled);
  std::size_t positions[kSampled];
  float values[kSampled];
  for (std::size_t k = 0; k < count; ++k)
    positions[k] = size <= kSampled ? k : sampled_position(size, salt, k);
  gather({positions, count}, values);
  return full_fingerprint({values, count});
}

FullFingerprint::FullFingerprint(std::size_t size) {
  for (std::size_t k = 0; k < lanes_.size(); ++k) lanes_[k] = (size + k) * kGolden;
}

std::uint32_t FullFingerprint::value() const {
  std::uint64_t hash = 0;
  for (const std::uint64_t lane : lanes_) {
    hash = (hash ^ lane) * kOdd;
    hash ^= hash >> 32;
  }
  hash *= kGolden;
  return static_cast<std::uint32_t>(hash >> 32);
}

void FullFingerprint::add(std::span<const float> piece) {
  constexpr std::size_t kWord = sizeof(std::uint64_t);
  const auto bytes = std::as_bytes(piece);
  auto lanes = lanes_;  // in registers
  const auto add_word = [&](std::size_t lane, std::size_t at, std::size_t size) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, size);
    mix(lanes[lane], word);
  };
  std::size_t at = 0;
  for (; at + kWord * lanes.size() <= bytes.size(); at += kWord * lanes.size())
    for (std::size_t lane = 0; lane < lanes.size(); ++lane)
      add_word(lane, at + kWord * lane, kWord);
  for (; at + kWord <= bytes.size(); at += kWord) add_word(0, at, kWord);
  if (at < bytes.size()) add_word(1, at, bytes.size() - at);
  lanes_ = lanes;
}

std::uint32_t full_fingerprint(std::span<const float> x) {
  FullFingerprint fingerprint(x.size());
  fingerprint.add(x);
  return fingerprint.value();
}

EventBytes encode_event(const Event& event, int worker, std::int64_t number) {
  EventBytes bytes;
  const auto kind_and_exchange = static_cast<std::uint16_t>(static_cast<unsigned>(event.kind) |
                                                            (event.exchange & kExchangeMask) << 4);
  std::memcpy(bytes.data(), &event.time, sizeof event.time);
  std::memcpy(bytes.data() + kFingerprintAt, &event.fingerprint, sizeof event.fingerprint);
  std::memcpy(bytes.data() + kKindAt, &kind_and_exchange, sizeof kind_and_exchange);
  const std::uint16_t check = check_of(bytes, worker, number);
  std::memcpy(bytes.data() + kCheckAt, &check, sizeof check);
  return bytes;
}

Event decode_event(std::span<const std::byte, kEventBytes> bytes, int worker, std::int64_t number) {
  std::uint16_t kind_and_exchange = 0, check = 0;
  std::memcpy(&check, bytes.data() + kCheckAt, sizeof check);
  std::memcpy(&kind_and_exchange, bytes.data() + kKindAt, sizeof kind_and_exchange);
  const unsigned kind = kind_and_exchange & 0xFu;
  if (check != check_of(bytes, worker, number) || kind >= kEventKinds)
    throw DamagedEvent(worker, number);
  Event event;
  event.kind = static_cast<EventKind>(kind);
  event.exchange = kind_and_exchange >> 4;
  std::memcpy(&event.time, bytes.data(), sizeof event.time);
  std::memcpy(&event.fingerprint, bytes.data() + kFingerprintAt, sizeof event.fingerprint);
  return event;
}

DamagedEvent::DamagedEvent(int worker, std::int64_t number)
    : Error(fmt::format("event {} of worker {} in the event log was altered", number, worker)),
      worker_(worker),
      number_(number) {}

}  // namespace acid

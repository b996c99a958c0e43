#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "engine/base/error.hpp"

namespace acid {

/// The events of a worker (docs/SEMANTICS.md), and the marks that an observation of all workers
/// leaves in each worker's log.
enum class EventKind : std::uint8_t {
  begin_gradient,
  commit_gradient,
  commit_and_begin,  // commit_gradient and begin_gradient at one time
  exchange,          // offer and apply at one time
  offer,
  apply,
  assign,
  measured,    // mark: a sample was taken here
  checkpoint,  // mark: a checkpoint was taken here
  lost,        // the last event of a lost worker, without which the run went on
};
inline constexpr int kEventKinds = 10;
constexpr bool is_commit(EventKind kind) {
  return kind == EventKind::commit_gradient || kind == EventKind::commit_and_begin;
}
constexpr bool is_mark(EventKind kind) {
  return kind == EventKind::measured || kind == EventKind::checkpoint;
}
/// "commit_gradient" and the like.
const char* event_name(EventKind kind);

/// One event of one worker, in the order the worker saw them.
struct Event {
  EventKind kind = EventKind::begin_gradient;
  double time = 0;  // normalised
  /// For exchange, offer, apply: the number of the edge in the drawn list. With a server, `offer`
  /// has the number of the message's arrival there, from 1, and `apply` has that number ÷ 4096, so
  /// that together they hold 24 bits of it, since others may come thousands of times meanwhile (in
  /// `virtual`, apply has the number itself). With a server, commits have the gradient's staleness
  /// (in `virtual` 0). For lost: how many of its last marks were taken without it.
  std::uint64_t exchange = 0;
  std::uint32_t fingerprint = 0;  // of the worker's x after the event
  template <class Archive>
  void persist(Archive& archive) {
    archive(kind, time, exchange, fingerprint);
  }
};

/// A hash of 16 elements spread over x, a different selection for every `salt`; of all of x when x
/// has no more elements. It finds where two executions part; it does not prove that they are equal.
std::uint32_t sampled_fingerprint(std::span<const float> x, std::uint64_t salt);
/// As above, for an x of `size` elements that is not in memory: `gather` fills its second argument
/// with the elements at these positions, at most 16.
using GatherElements = std::function<void(std::span<const std::size_t>, float*)>;
std::uint32_t sampled_fingerprint(std::size_t size, std::uint64_t salt,
                                  const GatherElements& gather);
std::uint32_t full_fingerprint(std::span<const float> x);
/// The hash of a whole x of `size` elements that comes in pieces. All pieces but the last have a
/// multiple of kPiece elements.
class FullFingerprint {
 public:
  static constexpr std::size_t kPiece = 8;
  explicit FullFingerprint(std::size_t size);
  void add(std::span<const float> piece);
  std::uint32_t value() const;

 private:
  std::array<std::uint64_t, 4> lanes_;
};

// The event log as stored: 16 bytes an event, little-endian.
//   0  time          IEEE double
//   8  fingerprint   32 bits
//  12  kind          4 bits (the low ones)
//  12  exchange      its lowest 12 bits: the rest follows from the order
//  14  check         CRC-16 of the 14 bytes before it, the worker and the event's number
// The check tells which event an altered bit belongs to.
inline constexpr std::size_t kEventBytes = 16;
using EventBytes = std::array<std::byte, kEventBytes>;

/// `number` counts the events of `worker` from 0 over the whole run.
EventBytes encode_event(const Event& event, int worker, std::int64_t number);

/// The decoded event; only the 12 lowest bits of `exchange` are known. Throws DamagedEvent when the
/// check fails or the kind is unknown.
Event decode_event(std::span<const std::byte, kEventBytes> bytes, int worker, std::int64_t number);
inline constexpr int kExchangeBits = 12;
inline constexpr std::uint64_t kExchangeMask = (1 << kExchangeBits) - 1;

/// A stored event was altered.
class DamagedEvent : public Error {
 public:
  DamagedEvent(int worker, std::int64_t number);
  int worker() const { return worker_; }
  std::int64_t number() const { return number_; }

 private:
  int worker_;
  std::int64_t number_;
};

}  // namespace acid

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "engine/base/error.hpp"

namespace acid {

/// What can happen to a worker (docs/SEMANTICS.md), and the marks that a look at all workers leaves
/// in the log of each.
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
  lost,        // the last event of a worker without which the run went on
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
  /// exchange, offer, apply: number of the edge in the drawn list. Where there is a server, offer:
  /// of the message's arrival there, from 1; apply: that ÷ 4096, so that both together have 24 bits
  /// of it, since others may come thousands of times meanwhile (in `virtual` the number stands in
  /// apply). Commits where there is a server: the gradient's staleness (in `virtual` 0). lost: of
  /// its last marks, those that were taken without it.
  std::uint64_t exchange = 0;
  std::uint32_t fingerprint = 0;  // of the worker's x after the event
  template <class Archive>
  void persist(Archive& archive) {
    archive(kind, time, exchange, fingerprint);
  }
};

/// A hash of 16 elements spread over x, a different selection for every `salt`; with all elements a
/// hash of the whole of x. For finding where two executions part, not for proving that they do not.
std::uint32_t sampled_fingerprint(std::span<const float> x, std::uint64_t salt);
/// The same of an x of `size` elements that is not at hand: `gather` fills its second argument with
/// the elements at these positions, at most 16.
using GatherElements = std::function<void(std::span<const std::size_t>, float*)>;
std::uint32_t sampled_fingerprint(std::size_t size, std::uint64_t salt,
                                  const GatherElements& gather);
std::uint32_t full_fingerprint(std::span<const float> x);
/// The same of an x of `size` elements that comes in pieces, all but the last of them of a multiple
/// of kPiece elements.
class FullFingerprint {
 public:
  static constexpr std::size_t kPiece = 8;
  explicit FullFingerprint(std::size_t size);
  void add(std::span<const float> piece);
  std::uint32_t value() const;

 private:
  std::array<std::uint64_t, 4> lanes_;
};

// The event log as it is kept: 16 bytes an event, little-endian.
//   0  time          IEEE double
//   8  fingerprint   32 bits
//  12  kind          4 bits (the low ones)
//  12  exchange      12 bits, its lowest: the rest follows from the order
//  14  check         CRC-16 of the 14 bytes before it, of the worker and of the event's number
// The check is there so that an altered bit is found where it is, in the event it belongs to.
inline constexpr std::size_t kEventBytes = 16;
using EventBytes = std::array<std::byte, kEventBytes>;

/// `number` counts the events of `worker` from 0 over the whole run.
EventBytes encode_event(const Event& event, int worker, std::int64_t number);

/// The event as decoded; of `exchange` only the 12 lowest bits are known.
/// Throws DamagedEvent when the check fails or the kind is not one.
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

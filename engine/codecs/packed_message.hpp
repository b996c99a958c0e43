#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/codecs/codec.hpp"
#include "engine/worker/rule.hpp"

namespace acid {

/// The form in which messages travel: vectors by the codec, numbers as they are. Immutable.
///
/// Where the codec has gaps, what does not fit travels with the message, as it is. Where receivers
/// say nothing of their own (needs_own() is false) encode() makes one body of all that. Else what
/// fits depends on the receiver's message of the same exchange, which is on its way when the
/// sender's leaves: then the packed body goes first, and the rest once one of both knows the gaps.
class PackedMessage {
 public:
  /// What the rule says of vectors of `dimension` elements. Without a codec it travels as it is.
  PackedMessage(std::shared_ptr<const Rule<float>> rule, std::size_t dimension,
                std::shared_ptr<const Codec> codec, std::uint64_t seed)
      : rule_(std::move(rule)), dimension_(dimension), codec_(std::move(codec)), seed_(seed) {}

  bool is_packed() const { return codec_ != nullptr; }
  /// As receivers have it, and as it travels: whole, and what exchange `number` carries, from 0.
  std::size_t floats() const { return whole().floats(); }
  std::size_t packed_floats() const { return packed_floats(whole()); }
  std::size_t floats(std::int64_t number) const { return extent(number).floats(); }
  std::size_t packed_floats(std::int64_t number) const { return packed_floats(extent(number)); }
  std::size_t bytes() const { return sizeof(float) * packed_floats(); }
  std::size_t bytes(std::int64_t number) const { return sizeof(float) * packed_floats(number); }
  /// The number of the message, from 0, that a worker with these numbers has said and not heard
  /// yet; 0 without a codec.
  std::uint64_t number_said(std::span<const double> scalars) const;

  /// What travels of `sender`'s message number `number`, from 0: it lies in `room`, which has its
  /// packed_floats() or more. Without a codec it is the message.
  std::span<const float> pack(int sender, std::uint64_t number, std::span<const float> message,
                              std::span<float> room) const;
  /// What exchange `number` carried; a meeting's is whole, whatever the number. `own`: the
  /// receiver's message of the same exchange, looked at where `needs_own()`. Only with a codec.
  void unpack(int sender, std::int64_t number, std::span<const float> packed,
              std::span<const float> own, std::span<float> out) const;
  bool needs_own() const { return codec_ && codec_->needs_own(); }
  /// The gaps of what exchange `number` carried, as few ranges as there are. Both ends find the
  /// same, of their own message and what they have unpacked of the other's.
  Gaps gaps(std::int64_t number, std::span<const float> own, std::span<const float> other) const;

  /// A whole message and what fills its gaps, for a receiver that says nothing of its own.
  std::vector<float> encode(int sender, std::uint64_t number, std::vector<float> message) const;
  void decode(int sender, std::span<const float> body, std::span<float> out) const;

 private:
  Extent whole() const { return {rule_->message(), dimension_}; }
  Extent extent(std::int64_t number) const { return rule_->extent(number, dimension_); }
  std::size_t packed_floats(const Extent& extent) const;
  std::size_t floats_per_vector(const Extent& extent) const {  // packed
    return extent.size() == 0 ? 0 : codec_->packed_floats(extent.size());
  }

  const std::shared_ptr<const Rule<float>> rule_;
  const std::size_t dimension_;
  const std::shared_ptr<const Codec> codec_;
  const std::uint64_t seed_;
};

/// What a message has in its gaps, one after the other.
std::vector<float> rest_of(std::span<const float> message, const Gaps& gaps);
/// Puts that into the gaps. `rest` has as many floats as these, neither more nor fewer.
void fill_gaps(std::span<const float> rest, const Gaps& gaps, std::span<float> message);

/// The gaps of a message of that extent, likewise.
Gaps gaps_of(const Codec& codec, const Extent& extent, std::span<const float> own,
             std::span<const float> other);
/// The draws of vector `vector` of a message.
Codec::Draw draw_of(std::uint64_t seed, int sender, std::uint64_t message, std::size_t vector,
                    std::size_t vectors);

}  // namespace acid

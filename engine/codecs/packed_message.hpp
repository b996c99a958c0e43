#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/codecs/codec.hpp"
#include "engine/worker/rule.hpp"

namespace acid {

/// The form in which messages travel: vectors packed by the codec, numbers unchanged. Immutable.
///
/// If the codec has gaps, their elements travel too, uncompressed. If needs_own() is false,
/// encode() puts all of it into one body. Otherwise the gaps depend on the receiver's message of
/// the same exchange, which is still on its way: the packed body is sent first, the rest once
/// either end knows the gaps.
class PackedMessage {
 public:
  /// For the rule's messages of vectors of `dimension` elements. Without a codec they are not
  /// packed.
  PackedMessage(std::shared_ptr<const Rule<float>> rule, std::size_t dimension,
                std::shared_ptr<const Codec> codec, std::uint64_t seed)
      : rule_(std::move(rule)), dimension_(dimension), codec_(std::move(codec)), seed_(seed) {}

  bool is_packed() const { return codec_ != nullptr; }
  /// Unpacked and packed size: of the whole message, and of what exchange `number` (from 0)
  /// carries.
  std::size_t floats() const { return whole().floats(); }
  std::size_t packed_floats() const { return packed_floats(whole()); }
  std::size_t floats(std::int64_t number) const { return extent(number).floats(); }
  std::size_t packed_floats(std::int64_t number) const { return packed_floats(extent(number)); }
  std::size_t bytes() const { return sizeof(float) * packed_floats(); }
  std::size_t bytes(std::int64_t number) const { return sizeof(float) * packed_floats(number); }
  /// The number, from 0, of the message that a worker with these scalars has said and not heard
  /// yet; 0 without a codec.
  std::uint64_t number_said(std::span<const double> scalars) const;

  /// The packed form of `sender`'s message `number`, from 0. It lies in `room`, which has at least
  /// its packed_floats(). Without a codec it is `message` itself.
  std::span<const float> pack(int sender, std::uint64_t number, std::span<const float> message,
                              std::span<float> room) const;
  /// Unpacks what exchange `number` carried; in meetings always the whole message. `own`: the
  /// receiver's message of the same exchange, read if needs_own(). Only with a codec.
  void unpack(int sender, std::int64_t number, std::span<const float> packed,
              std::span<const float> own, std::span<float> out) const;
  bool needs_own() const { return codec_ && codec_->needs_own(); }
  /// The gaps of what exchange `number` carried, adjacent ranges joined. Both ends find the same
  /// from their own message and the other's unpacked one.
  Gaps gaps(std::int64_t number, std::span<const float> own, std::span<const float> other) const;

  /// A whole message with the elements of its gaps, for a receiver that sends no message.
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

/// The message's elements in the gaps, one after the other.
std::vector<float> rest_of(std::span<const float> message, const Gaps& gaps);
/// Writes them back into the gaps. `rest` has exactly as many floats as the gaps.
void fill_gaps(std::span<const float> rest, const Gaps& gaps, std::span<float> message);

/// As PackedMessage::gaps(), for a message of this extent.
Gaps gaps_of(const Codec& codec, const Extent& extent, std::span<const float> own,
             std::span<const float> other);
/// The draws for vector `vector` of a message.
Codec::Draw draw_of(std::uint64_t seed, int sender, std::uint64_t message, std::size_t vector,
                    std::size_t vectors);

}  // namespace acid

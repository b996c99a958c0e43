#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/codecs/codec.hpp"
#include "engine/worker/rule.hpp"

namespace acid {

/// The form in which messages travel: vectors by the codec, numbers as they are. Immutable.
class PackedMessage {
 public:
  /// Of vectors of `dimension` elements. Without a codec a message travels as it is.
  PackedMessage(const Message& message, std::size_t dimension, const std::optional<Codec>& codec,
                std::uint64_t seed)
      : message_(message), dimension_(dimension), codec_(codec), seed_(seed) {}

  bool is_packed() const { return codec_.has_value(); }
  /// As receivers have it, and as it travels.
  std::size_t floats() const { return message_.floats(dimension_); }
  std::size_t packed_floats() const {
    const std::size_t vector = codec_ ? codec_->packed_floats(dimension_) : dimension_;
    return message_.vectors * vector + 2 * message_.scalars;
  }
  std::size_t bytes() const { return sizeof(float) * packed_floats(); }
  /// `sender`'s message number `number`, from 0.
  void pack(int sender, std::uint64_t number, std::span<const float> message,
            std::span<float> out) const;
  /// `own`: the receiver's message of the same exchange, looked at where `needs_own()`.
  void unpack(int sender, std::span<const float> packed, std::span<const float> own,
              std::span<float> out) const;
  bool needs_own() const { return codec_ && codec_->kind == CodecKind::lattice; }
  /// The ranges of a message that two send each other once more, as they are (Codec::sent_again).
  std::vector<Lattice::Block> sent_again(std::span<const float> a, std::span<const float> b) const;

 private:
  const Message message_;
  const std::size_t dimension_;
  const std::optional<Codec> codec_;
  const std::uint64_t seed_;
};

/// The draws of vector `vector` of a message.
Codec::Draw draw_of(std::uint64_t seed, int sender, std::uint64_t message, std::size_t vector,
                    std::size_t vectors);

}  // namespace acid

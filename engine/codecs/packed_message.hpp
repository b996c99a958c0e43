#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/codecs/codec.hpp"
#include "engine/worker/rule.hpp"

namespace acid {

/// The form in which messages travel: vectors by the codec, numbers as they are. Immutable.
class PackedMessage {
 public:
  /// What the rule says of vectors of `dimension` elements. Without a codec it travels as it is.
  PackedMessage(std::shared_ptr<const Rule<float>> rule, std::size_t dimension,
                const std::optional<Codec>& codec, std::uint64_t seed)
      : rule_(std::move(rule)), dimension_(dimension), codec_(codec), seed_(seed) {}

  bool is_packed() const { return codec_.has_value(); }
  /// As receivers have it, and as it travels: whole, and what exchange `number` carries, from 0.
  std::size_t floats() const { return whole().floats(); }
  std::size_t packed_floats() const { return packed_floats(whole()); }
  std::size_t floats(std::int64_t number) const { return extent(number).floats(); }
  std::size_t packed_floats(std::int64_t number) const { return packed_floats(extent(number)); }
  std::size_t bytes() const { return sizeof(float) * packed_floats(); }
  std::size_t bytes(std::int64_t number) const { return sizeof(float) * packed_floats(number); }
  /// `sender`'s message number `number`, from 0; `out` has its packed_floats().
  void pack(int sender, std::uint64_t number, std::span<const float> message,
            std::span<float> out) const;
  /// What exchange `number` carried; a meeting's is whole, whatever the number. `own`: the
  /// receiver's message of the same exchange, looked at where `needs_own()`.
  void unpack(int sender, std::int64_t number, std::span<const float> packed,
              std::span<const float> own, std::span<float> out) const;
  bool needs_own() const { return codec_ && codec_->needs_own(); }
  bool sends_again() const { return codec_ && codec_->sends_again(); }
  /// The ranges of what exchange `number` carried that are sent once more (Codec::sent_again), as
  /// few as there are.
  std::vector<Lattice::Block> sent_again(std::int64_t number, std::span<const float> a,
                                         std::span<const float> b) const;

 private:
  Extent whole() const { return {rule_->message(), dimension_}; }
  Extent extent(std::int64_t number) const { return rule_->extent(number, dimension_); }
  std::size_t packed_floats(const Extent& extent) const;

  const std::shared_ptr<const Rule<float>> rule_;
  const std::size_t dimension_;
  const std::optional<Codec> codec_;
  const std::uint64_t seed_;
};

/// What a message has in these ranges, one after the other, …
std::vector<float> parts_of(std::span<const float> message,
                            const std::vector<Lattice::Block>& ranges);
/// … and puts it there. `parts` has so many floats, neither more nor less.
void put_parts(std::span<const float> parts, const std::vector<Lattice::Block>& ranges,
               std::span<float> message);

/// The draws of vector `vector` of a message.
Codec::Draw draw_of(std::uint64_t seed, int sender, std::uint64_t message, std::size_t vector,
                    std::size_t vectors);

}  // namespace acid

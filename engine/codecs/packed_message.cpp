#include "engine/codecs/packed_message.hpp"

#include <algorithm>
#include <bit>
#include <iterator>

#include "engine/base/error.hpp"

namespace acid {

Codec::Draw draw_of(std::uint64_t seed, int sender, std::uint64_t message, std::size_t vector,
                    std::size_t vectors) {
  return {seed, static_cast<std::uint32_t>(sender), message * vectors + vector};
}

Gaps gaps_of(const Codec& codec, const Extent& extent, std::span<const float> own,
             std::span<const float> other) {
  Gaps all;
  const std::size_t end = codec.has_gaps() ? extent.vector_at(32) : 0, size = extent.size();
  for (std::size_t begin = 0; begin < end; begin += size)
    for (const auto& [first, last] : codec.gaps(
             own.subspan(begin, size), codec.needs_own() ? other.subspan(begin, size) : other)) {
      if (!all.empty() && all.back().second == begin + first)
        all.back().second = begin + last;
      else
        all.emplace_back(begin + first, begin + last);
    }
  return all;
}

std::size_t PackedMessage::packed_floats(const Extent& extent) const {
  if (!codec_) return extent.floats();
  const auto vectors = static_cast<std::size_t>(std::popcount(extent.vectors));
  return extent.floats() - vectors * (extent.size() - floats_per_vector(extent));
}

std::uint64_t PackedMessage::number_said(std::span<const double> scalars) const {
  if (!is_packed()) return 0;
  return static_cast<std::uint64_t>(scalars.back()) - (rule_->changes_when_saying() ? 1 : 0);
}

std::span<const float> PackedMessage::pack(int sender, std::uint64_t number,
                                           std::span<const float> message,
                                           std::span<float> room) const {
  if (!is_packed()) return message;
  const std::size_t vectors = rule_->message().vectors;
  const Extent of = extent(static_cast<std::int64_t>(number));
  const std::size_t size = of.size(), each = floats_per_vector(of);
  const std::span<float> all = room.first(packed_floats(of));
  std::ranges::fill(all, 0.0f);
  std::span<float> out = all;
  for (std::size_t k = 0; k < vectors; ++k) {
    if ((of.vectors >> k & 1) == 0) continue;
    codec_->pack(draw_of(seed_, sender, number, k, vectors), message.first(size), out.first(each));
    message = message.subspan(size);
    out = out.subspan(each);
  }
  std::ranges::copy(message, out.begin());
  return all;
}

void PackedMessage::unpack(int sender, std::int64_t number, std::span<const float> packed,
                           std::span<const float> own, std::span<float> out) const {
  const std::size_t vectors = rule_->message().vectors;
  const Extent of = extent(number);
  const std::size_t size = of.size(), each = floats_per_vector(of);
  for (std::size_t k = 0; k < vectors; ++k) {
    if ((of.vectors >> k & 1) == 0) continue;
    codec_->unpack(draw_of(seed_, sender, 0, k, vectors), packed.first(each),
                   needs_own() ? own.first(size) : own, out.first(size));
    packed = packed.subspan(each);
    out = out.subspan(size);
    if (needs_own()) own = own.subspan(size);
  }
  std::ranges::copy(packed, out.begin());
}

Gaps PackedMessage::gaps(std::int64_t number, std::span<const float> own,
                         std::span<const float> other) const {
  return is_packed() ? gaps_of(*codec_, extent(number), own, other) : Gaps{};
}

std::vector<float> PackedMessage::encode(int sender, std::uint64_t number,
                                         std::vector<float> message) const {
  if (!is_packed()) return message;
  std::vector<float> body(packed_floats());
  pack(sender, number, message, body);
  std::ranges::copy(rest_of(message, gaps(0, message, {})), std::back_inserter(body));
  return body;
}

void PackedMessage::decode(int sender, std::span<const float> body, std::span<float> out) const {
  if (!is_packed()) {
    std::ranges::copy(body, out.begin());
    return;
  }
  unpack(sender, 0, body.first(packed_floats()), {}, out);
  fill_gaps(body.subspan(packed_floats()), gaps(0, out, {}), out);
}

std::vector<float> rest_of(std::span<const float> message, const Gaps& gaps) {
  std::vector<float> rest;
  for (const auto& [first, last] : gaps)
    std::ranges::copy(message.subspan(first, last - first), std::back_inserter(rest));
  return rest;
}

void fill_gaps(std::span<const float> rest, const Gaps& gaps, std::span<float> message) {
  for (const auto& [first, last] : gaps) {
    const std::size_t size = last - first;
    ACID_ASSERT(size <= rest.size() && last <= message.size(),
                "{} floats are left for elements {} to {} of {}", rest.size(), first, last,
                message.size());
    std::ranges::copy(rest.first(size), message.subspan(first).begin());
    rest = rest.subspan(size);
  }
  ACID_ASSERT(rest.empty(), "{} floats fill no gap", rest.size());
}

}  // namespace acid

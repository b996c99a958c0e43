#include "engine/codecs/packed_message.hpp"

#include <algorithm>
#include <bit>

#include "engine/base/error.hpp"

namespace acid {

Codec::Draw draw_of(std::uint64_t seed, int sender, std::uint64_t message, std::size_t vector,
                    std::size_t vectors) {
  return {seed, static_cast<std::uint32_t>(sender), message * vectors + vector};
}

std::size_t PackedMessage::packed_floats(const Extent& extent) const {
  if (!codec_) return extent.floats();
  const auto vectors = static_cast<std::size_t>(std::popcount(extent.vectors));
  return extent.floats() - vectors * (extent.size() - codec_->packed_floats(extent.size()));
}

void PackedMessage::pack(int sender, std::uint64_t number, std::span<const float> message,
                         std::span<float> out) const {
  const std::size_t vectors = rule_->message().vectors;
  const Extent of = extent(static_cast<std::int64_t>(number));
  const std::size_t size = of.size(), packed = codec_->packed_floats(size);
  for (std::size_t k = 0; k < vectors; ++k) {
    if ((of.vectors >> k & 1) == 0) continue;
    codec_->pack(draw_of(seed_, sender, number, k, vectors), message.first(size),
                 out.first(packed));
    message = message.subspan(size);
    out = out.subspan(packed);
  }
  std::ranges::copy(message, out.begin());
}

void PackedMessage::unpack(int sender, std::int64_t number, std::span<const float> packed,
                           std::span<const float> own, std::span<float> out) const {
  const std::size_t vectors = rule_->message().vectors;
  const Extent of = extent(number);
  const std::size_t size = of.size(), each = codec_->packed_floats(size);
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

std::vector<Lattice::Block> PackedMessage::sent_again(std::int64_t number, std::span<const float> a,
                                                      std::span<const float> b) const {
  const Extent of = extent(number);
  std::vector<Lattice::Block> all;
  for (std::size_t begin = 0; sends_again() && begin < of.vector_at(32); begin += of.size())
    for (const auto& [first, last] : codec_->sent_again(
             a.subspan(begin, of.size()), needs_own() ? b.subspan(begin, of.size()) : b)) {
      if (!all.empty() && all.back().second == begin + first)
        all.back().second = begin + last;
      else
        all.emplace_back(begin + first, begin + last);
    }
  return all;
}

std::vector<float> parts_of(std::span<const float> message,
                            const std::vector<Lattice::Block>& ranges) {
  std::vector<float> parts;
  for (const auto& [first, last] : ranges) {
    const std::span<const float> part = message.subspan(first, last - first);
    parts.insert(parts.end(), part.begin(), part.end());
  }
  return parts;
}

void put_parts(std::span<const float> parts, const std::vector<Lattice::Block>& ranges,
               std::span<float> message) {
  std::size_t at = 0;
  for (const auto& [first, last] : ranges) {
    ACID_ASSERT(at + (last - first) <= parts.size() && last <= message.size(),
                "{} floats were sent again, too few of a message of {}", parts.size(),
                message.size());
    std::ranges::copy(parts.subspan(at, last - first), message.subspan(first).begin());
    at += last - first;
  }
  ACID_ASSERT(at == parts.size(), "{} floats were sent again, not {}", parts.size(), at);
}

}  // namespace acid

#include "engine/codecs/packed_message.hpp"

#include <algorithm>

namespace acid {

Codec::Draw draw_of(std::uint64_t seed, int sender, std::uint64_t message, std::size_t vector,
                    std::size_t vectors) {
  return {seed, static_cast<std::uint32_t>(sender), message * vectors + vector};
}

void PackedMessage::pack(int sender, std::uint64_t number, std::span<const float> message,
                         std::span<float> out) const {
  const std::size_t packed = codec_->packed_floats(dimension_);
  for (std::size_t k = 0; k < message_.vectors; ++k)
    codec_->pack(draw_of(seed_, sender, number, k, message_.vectors),
                 message.subspan(k * dimension_, dimension_), out.subspan(k * packed, packed));
  std::ranges::copy(message.subspan(message_.vectors * dimension_),
                    out.begin() + static_cast<std::ptrdiff_t>(message_.vectors * packed));
}

void PackedMessage::unpack(int sender, std::span<const float> packed, std::span<const float> own,
                           std::span<float> out) const {
  const std::size_t each = codec_->packed_floats(dimension_);
  for (std::size_t k = 0; k < message_.vectors; ++k)
    codec_->unpack(draw_of(seed_, sender, 0, k, message_.vectors), packed.subspan(k * each, each),
                   needs_own() ? own.subspan(k * dimension_, dimension_) : own,
                   out.subspan(k * dimension_, dimension_));
  std::ranges::copy(packed.subspan(message_.vectors * each),
                    out.begin() + static_cast<std::ptrdiff_t>(message_.vectors * dimension_));
}

std::vector<Lattice::Block> PackedMessage::sent_again(std::span<const float> a,
                                                      std::span<const float> b) const {
  std::vector<Lattice::Block> all;
  for (std::size_t begin = 0; needs_own() && begin < message_.vectors * dimension_;
       begin += dimension_)
    for (const auto& [first, last] :
         codec_->sent_again(a.subspan(begin, dimension_), b.subspan(begin, dimension_)))
      all.emplace_back(begin + first, begin + last);
  return all;
}

}  // namespace acid

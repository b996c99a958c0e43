#include <algorithm>
#include <bit>

#include "engine/base/error.hpp"
#include "engine/codecs/catalog.hpp"

namespace acid {
namespace {

constexpr Field kTopKFields[] = {
    {"share", FieldType::number, {}, "share of elements that is sent, the largest", 0, 1, true},
    {"chunk", FieldType::integer, "0",
     "elements that compete with each other; 0: all of the vector", 0, 1e9}};

/// The largest magnitudes of every chunk; 0 elsewhere: k(4 bytes + ⌈log₂ chunk⌉ bits).
class TopKCodec final : public Codec {
 public:
  TopKCodec(const nlohmann::json& options, bool)
      : share_(number(options, "share")),
        chunk_(static_cast<std::size_t>(integer(options, "chunk"))) {}
  bool leaves_out() const override { return true; }
  std::size_t packed_floats(std::size_t size) const override {
    return sent_of(size) + floats_of_bits(sent_of(size) * index_bits(size));
  }
  void project(const Draw&, std::span<float> values) const override {
    for_each_chunk(values, [&](std::span<float> part) {
      std::vector<float> sent(part.size());
      // + 0.0f makes −0 a +0, since pack() may choose other zeros.
      for (const std::uint32_t at : largest(part)) sent[at] = part[at] + 0.0f;
      std::ranges::copy(sent, part.begin());
    });
  }
  void pack(const Draw&, std::span<const float> values, std::span<float> out) const override {
    BitWriter bits(out.subspan(sent_of(values.size())));
    std::size_t k = 0;
    for_each_chunk(values, [&](std::span<const float> part) {
      for (const std::uint32_t at : largest(part)) {
        bits.add(at, index_bits(values.size()));
        out[k++] = part[at];
      }
    });
  }
  void unpack(const Draw&, std::span<const float> packed, std::span<const float>,
              std::span<float> out) const override {
    std::ranges::fill(out, 0.0f);
    BitReader bits(packed.subspan(sent_of(out.size())));
    std::size_t k = 0;
    for_each_chunk(out, [&](std::span<float> part) {
      for (std::size_t sent = elements_sent(share_, part.size()); sent > 0; --sent) {
        const std::size_t at = bits.take(index_bits(out.size()));
        ACID_ASSERT(at < part.size(), "a packed vector names element {} of {}", at, part.size());
        part[at] = packed[k++];
      }
    });
  }

 private:
  std::size_t chunk_of(std::size_t size) const {
    return chunk_ == 0 ? size : std::min(chunk_, size);
  }
  unsigned index_bits(std::size_t size) const {
    return static_cast<unsigned>(std::bit_width(chunk_of(size) - 1));
  }
  std::size_t sent_of(std::size_t size) const {
    const std::size_t each = chunk_of(size), rest = size % each;
    return size / each * elements_sent(share_, each) + (rest > 0 ? elements_sent(share_, rest) : 0);
  }
  template <class T, class Visit>
  void for_each_chunk(std::span<T> values, const Visit& visit) const {
    const std::size_t each = chunk_of(values.size());
    for (std::size_t first = 0; first < values.size(); first += each)
      visit(values.subspan(first, std::min(each, values.size() - first)));
  }
  // Positions of the elements that are sent, ascending; ties go to the lower index.
  std::vector<std::uint32_t> largest(std::span<const float> values) const {
    std::vector<std::uint64_t> keys(values.size());  // larger magnitude first, then lower index
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::uint32_t magnitude = std::bit_cast<std::uint32_t>(values[i]) & 0x7fffffffu;
      keys[i] = static_cast<std::uint64_t>(0x7fffffffu - magnitude) << 32 | i;
    }
    const std::size_t count = elements_sent(share_, values.size());
    std::ranges::nth_element(keys, keys.begin() + static_cast<std::ptrdiff_t>(count - 1));
    std::vector<std::uint32_t> positions(count);
    for (std::size_t k = 0; k < count; ++k) positions[k] = static_cast<std::uint32_t>(keys[k]);
    std::ranges::sort(positions);
    return positions;
  }

  const double share_;
  const std::size_t chunk_;
};

}  // namespace

const CodecEntry top_k_codec{"top-k", "the largest magnitudes", kTopKFields,
                             &make_codec<TopKCodec>};

}  // namespace acid

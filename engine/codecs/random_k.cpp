#include <algorithm>
#include <bit>

#include "engine/codecs/catalog.hpp"

namespace acid {
namespace {

constexpr Field kRandomKFields[] = {
    {"share",
     FieldType::number,
     {},
     "share of the elements that is sent, drawn for every message",
     0,
     1,
     true},
    {"common", FieldType::boolean, "false", "all workers send the same elements"}};

/// k coordinates, drawn for every message; 0 elsewhere, not rescaled: 4k + 4 bytes.
class RandomKCodec final : public Codec {
 public:
  RandomKCodec(const nlohmann::json& options, bool)
      : share_(number(options, "share")), common_(options.at("common").get<bool>()) {}
  bool leaves_out() const override { return true; }
  bool is_common() const override { return common_; }
  std::size_t packed_floats(std::size_t size) const override {
    return 1 + elements_sent(share_, size);
  }
  void project(const Draw& draw, std::span<float> values) const override {
    std::vector<float> sent(values.size());
    for (const std::uint64_t at : drawn(draw, values.size())) sent[at] = values[at];
    std::ranges::copy(sent, values.begin());
  }
  void pack(const Draw& draw, std::span<const float> values, std::span<float> out) const override {
    out[0] = std::bit_cast<float>(static_cast<std::uint32_t>(draw.message));
    std::size_t k = 1;
    for (const std::uint64_t at : drawn(draw, values.size())) out[k++] = values[at];
  }
  void unpack(const Draw& draw, std::span<const float> packed, std::span<const float>,
              std::span<float> out) const override {
    std::ranges::fill(out, 0.0f);
    const auto message = std::bit_cast<std::uint32_t>(packed[0]);
    std::size_t k = 1;
    for (const std::uint64_t at : drawn({draw.seed, draw.sender, message}, out.size()))
      out[at] = packed[k++];
  }

 private:
  std::vector<std::uint64_t> drawn(const Draw& draw, std::size_t size) const {
    const std::uint64_t key =
        Stream(draw.seed, draw.message).next64() ^
        (common_ ? 0 : Stream(draw.seed, ~std::uint64_t{draw.sender}).next64());
    std::vector<std::uint64_t> positions(elements_sent(share_, size));
    Permutation(key, size).range(0, positions);
    return positions;
  }

  const double share_;
  const bool common_;
};

}  // namespace

const CodecEntry random_k_codec{"random-k", "coordinates drawn at random", kRandomKFields,
                                &make_codec<RandomKCodec>};

}  // namespace acid

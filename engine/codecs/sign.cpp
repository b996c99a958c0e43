#include <cmath>

#include "engine/codecs/catalog.hpp"

namespace acid {
namespace {

/// The mean magnitude, with each element's sign: ⌈d/8⌉ + 4 bytes.
class SignCodec final : public Codec {
 public:
  SignCodec(const nlohmann::json&, bool) {}
  bool leaves_out() const override { return true; }
  std::size_t packed_floats(std::size_t size) const override { return 1 + floats_of_bits(size); }
  void project(const Draw&, std::span<float> values) const override {
    double sum = 0;
    for (const float value : values) sum += std::abs(static_cast<double>(value));
    const auto mean = static_cast<float>(sum / static_cast<double>(values.size()));
    for (float& value : values) value = std::signbit(value) ? -mean : mean;
  }
  void pack(const Draw&, std::span<const float> values, std::span<float> out) const override {
    out[0] = std::abs(values[0]);
    BitWriter bits(out.subspan(1));
    for (const float value : values) bits.add(std::signbit(value) ? 1 : 0, 1);
  }
  void unpack(const Draw&, std::span<const float> packed, std::span<const float>,
              std::span<float> out) const override {
    BitReader bits(packed.subspan(1));
    for (float& value : out) value = bits.take(1) != 0 ? -packed[0] : packed[0];
  }
};

}  // namespace

const CodecEntry sign_codec{
    "sign", "the mean magnitude with each element's sign", {}, &make_codec<SignCodec>};

}  // namespace acid

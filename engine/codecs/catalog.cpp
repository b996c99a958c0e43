#include "engine/codecs/catalog.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "engine/base/error.hpp"

namespace acid {

std::span<const CodecEntry> codec_catalog() {
  static const auto catalog = std::to_array<CodecEntry>({
      {"none", "messages travel as they are", {}, nullptr},
#define CODEC(stem) stem##_codec,
#include "engine/codecs/catalog.inc"
#undef CODEC
  });
  return catalog;
}

std::span<const Field> codec_fields() {
  static constexpr Field fields[] = {{"error_feedback", FieldType::boolean, "false",
                                      "what a message leaves out is added to the next"}};
  return fields;
}

std::shared_ptr<const Codec> codec_of(const nlohmann::json& options, bool receivers_say) {
  const std::string kind = text(options, "kind");
  const auto found = std::ranges::find(codec_catalog(), kind, &CodecEntry::name);
  ACID_ASSERT(found != codec_catalog().end() && found->make, "a codec called '{}'", kind);
  const auto codec = found->make(options, receivers_say);
  ACID_ASSERT(codec->needs_own() == (codec->has_gaps() && receivers_say),
              "{} needs receivers' messages, and they send none", kind);
  return codec;
}

std::size_t elements_sent(double share, std::size_t elements) {
  const double wanted = std::round(share * static_cast<double>(elements));
  return std::clamp<std::size_t>(static_cast<std::size_t>(wanted), 1, elements);
}

}  // namespace acid

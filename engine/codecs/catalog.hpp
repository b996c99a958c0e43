#pragma once

#include <nlohmann/json.hpp>

#include "engine/base/rng.hpp"
#include "engine/codecs/bits.hpp"
#include "engine/codecs/codec.hpp"

// For the catalog's files only; all others use codec.hpp.
namespace acid {

// Each kind's file defines its entry, a constant, so that no order of initialisation matters.
#define CODEC(stem) extern const CodecEntry stem##_codec;
#include "engine/codecs/catalog.inc"
#undef CODEC

/// CodecEntry::make for the codec class C.
template <class C>
std::shared_ptr<const Codec> make_codec(const nlohmann::json& options, bool receivers_say) {
  return std::make_shared<const C>(options, receivers_say);
}

/// How many elements are sent: the share, rounded, at least one.
std::size_t elements_sent(double share, std::size_t elements);

}  // namespace acid

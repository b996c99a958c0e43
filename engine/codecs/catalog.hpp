#pragma once

#include <nlohmann/json.hpp>

#include "engine/base/rng.hpp"
#include "engine/codecs/bits.hpp"
#include "engine/codecs/codec.hpp"

// For the files of the catalog only; all others use codec.hpp.
namespace acid {

// Each kind's file defines its entry, a constant, so that no order of initialisation matters.
#define CODEC(stem) extern const CodecEntry stem##_codec;
#include "engine/codecs/catalog.inc"
#undef CODEC

/// CodecEntry::make of a class.
template <class C>
std::shared_ptr<const Codec> make_codec(const nlohmann::json& options, bool receivers_say) {
  return std::make_shared<const C>(options, receivers_say);
}

/// How many of so many elements are sent: that share of them, rounded, and at least one.
std::size_t elements_sent(double share, std::size_t elements);

}  // namespace acid

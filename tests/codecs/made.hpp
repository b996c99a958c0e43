#pragma once

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string_view>

#include "engine/codecs/codec.hpp"

namespace acid::test {

/// `given` with the kind's other options; a number that it requires is 0.3.
inline nlohmann::json codec_options(const CodecEntry& entry, nlohmann::json given) {
  given["kind"] = entry.name;
  for (const Field& field : entry.fields)
    if (field.fallback.empty()) given.emplace(field.name, 0.3);
  return with_fallbacks(entry.fields, given);
}

/// The catalog's codec of that name.
inline std::shared_ptr<const Codec> made(std::string_view kind,
                                         const nlohmann::json& given = nlohmann::json::object()) {
  const auto entry = std::ranges::find(codec_catalog(), kind, &CodecEntry::name);
  return codec_of(codec_options(*entry, given), true);
}

}  // namespace acid::test

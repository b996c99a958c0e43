#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace acid {

/// RFC 4648, with padding.
std::string base64(std::span<const std::byte> bytes);

/// Numbers as the page's script reads them: base64 of 32-bit floats, little-endian.
std::string packed_floats(const std::vector<double>& values);

/// The source expression of a content security policy that allows exactly this style sheet or
/// script: 'sha256-…' in base64.
std::string content_hash(std::string_view content);

}  // namespace acid

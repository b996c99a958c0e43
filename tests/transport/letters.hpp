#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "engine/transport/transport.hpp"

namespace acid::test {

inline std::span<const std::byte> letter(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

inline std::string text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Waits for the next message.
inline Mail receive(Transport& transport) {
  while (true) {
    if (auto mail = transport.next()) return std::move(*mail);
    transport.wait(10);
  }
}

}  // namespace acid::test

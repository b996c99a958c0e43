#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace acid {

/// The use of a worker's time. An exchange beside a gradient overlaps its computation.
enum class SpanKind : std::uint8_t { compute, wait, exchange };
inline constexpr std::array<std::string_view, 3> kSpanNames{"compute", "wait", "exchange"};

/// A piece of one worker's time, in seconds of Position::seconds; begin = end: no time at all.
struct Span {
  SpanKind kind = SpanKind::compute;
  double begin = 0, end = 0;
  template <class Archive>
  void persist(Archive& archive) {
    archive(kind, begin, end);
  }
};

}  // namespace acid

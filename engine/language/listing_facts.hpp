#pragma once

#include <string>
#include <vector>

#include "engine/language/listing.hpp"
#include "engine/worker/rule.hpp"

namespace acid {

/// The names that a part of a listing reads and assigns: x, kept names, g, u, messages.
struct PartUse {
  const char* part;
  std::vector<std::string> reads, assigns;
};
/// The uses of step, say (with send) and hear, in this order.
std::vector<PartUse> uses_of(const Listing& listing);

/// The effect of an exchange on random workers, measured in double precision.
struct ExchangeFacts {
  bool is_finite = true;        // false: nothing was measured
  bool is_linear = false;       // in all vectors that workers keep, with x and g
  bool conserves_mean = false;  // of x
};
/// Measures four workers on a ring, or two that meet.
ExchangeFacts measure_exchange(const Listing& listing, const Rules& rules);

/// The work that overlaps messages: "a gradient is", "8 gradients are", "" if nothing does.
std::string overlap_of(const Round& round);

}  // namespace acid

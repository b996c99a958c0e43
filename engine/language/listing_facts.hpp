#pragma once

#include <string>
#include <vector>

#include "engine/language/listing.hpp"
#include "engine/worker/rule.hpp"

namespace acid {

/// What a part of a listing reads and assigns: x, what workers keep, g, u, messages.
struct PartUse {
  const char* part;
  std::vector<std::string> reads, assigns;
};
/// Of step, say (with what is sent) and hear, in this order.
std::vector<PartUse> uses_of(const Listing& listing);

/// What an exchange of messages does to random workers, measured in double precision.
struct ExchangeFacts {
  bool is_finite = true;        // else nothing was measured
  bool is_linear = false;       // of all vectors that workers keep, x and g among them
  bool conserves_mean = false;  // of x
};
/// Four workers on a ring, or two that meet.
ExchangeFacts measure_exchange(const Listing& listing, const Rules& rules);

/// What runs while messages travel: "a gradient is", "8 gradients are", "" if nothing does.
std::string overlap_of(const Round& round);

}  // namespace acid

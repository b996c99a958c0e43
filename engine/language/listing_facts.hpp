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

/// The effect of an exchange on random workers, measured in double precision on several graphs.
struct ExchangeFacts {
  bool is_finite = true;  // false: nothing was measured
  /// Every exchange, on all graphs, in all vectors that workers keep, with x and g.
  bool is_linear = true;
  std::size_t graphs = 0;
  std::vector<std::string> moves_mean_on = {};  // the graphs on which the mean of x moves: "a star"
};
/// Measures four workers that hear neighbours (all, both ones on a ring, those of a star and, where
/// the method may run on one, of a one-way ring), one of them or all, or two that meet.
ExchangeFacts measure_exchange(const Listing& listing, const Rules& rules);

/// Whether exchanges keep the differences that the workers' models had at the start, measured as
/// above: what is sent are gradients, or changes of models. Not for methods with a server.
bool keeps_differences(const Listing& listing, const Rules& rules);

/// Whether models that agree stay so where the weights of what a worker hears do not sum to 1, but
/// those of what it sends do: the listing divides by a number that it sends with them (push-sum).
/// For methods whose peers are neighbours.
bool keeps_agreement(const Listing& listing, const Rules& rules);

/// The work that overlaps messages: "a gradient is", "8 gradients are", "" if nothing does.
std::string overlap_of(const Round& round);

}  // namespace acid

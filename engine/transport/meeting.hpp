#pragma once

#include <string>
#include <vector>

#include "engine/transport/listener.hpp"

namespace acid {

/// One connection to every other process of a run, by rank; none at one's own. All processes call
/// it at the same time, each with its listener, the cards of all by rank, and one secret: a process
/// calls those of lower rank, trying one address after the other, and is called by the others.
/// Either side proves that it knows the secret without telling it, so whoever else listens or calls
/// is turned away. Blocks for `seconds` at most, then throws Error naming who did not answer where.
std::vector<Descriptor> meet(const Listener& listener, const std::vector<Card>& cards,
                             const std::string& secret, double seconds);

}  // namespace acid

#pragma once

#include <string>
#include <vector>

#include "engine/transport/listener.hpp"

namespace acid {

/// Connects every pair of a run's processes. Returns the connections by rank, none at the own rank.
/// All processes call it together, each with its listener, all cards by rank, and one secret. A
/// process calls those of lower rank, one address after the other, and is called by the others.
/// Both sides prove that they know the secret without sending it, so strangers are rejected. Blocks
/// for at most `seconds`, then throws Error with the processes that did not answer and their
/// addresses.
std::vector<Descriptor> meet(const Listener& listener, const std::vector<Card>& cards,
                             const std::string& secret, double seconds);

}  // namespace acid

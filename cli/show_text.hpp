#pragma once

#include <string>

#include "store/queries.hpp"

namespace acid {

/// A run in sections for a terminal: outcome, results, pace of gossip, settings, attempts,
/// environment, digests, and the last lines of its log.
std::string to_text(const RunDetail& run);

}  // namespace acid

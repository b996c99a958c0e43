#pragma once

#include <string>

namespace acid {

/// Now, UTC, ISO 8601 with milliseconds: "2025-03-01T12:00:05.123Z". Sorts as text, and SQLite's
/// date functions read it.
std::string utc_now();

}  // namespace acid

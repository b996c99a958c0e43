#pragma once

#include <cstdint>
#include <vector>

#include "engine/recorder/span.hpp"
#include "store/sqlite.hpp"

namespace acid {

/// Keeps what the workers of an attempt did with their time, by worker, in the caller's
/// transaction. Read back by read_spans().
void insert_spans(const sqlite::Connection& connection, std::int64_t attempt,
                  const std::vector<std::vector<Span>>& workers);

}  // namespace acid

#pragma once

#include <cstdint>
#include <vector>

#include "engine/recorder/span.hpp"
#include "store/sqlite.hpp"

namespace acid {

/// Stores how the workers of an attempt spent their time, by worker, in the caller's transaction.
/// read_spans() reads it back.
void insert_spans(const sqlite::Connection& connection, std::int64_t attempt,
                  const std::vector<std::vector<Span>>& workers);

}  // namespace acid

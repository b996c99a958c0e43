#pragma once

#include <span>
#include <string>
#include <string_view>

#include "store/sqlite.hpp"

namespace acid {

/// Refuses a database whose tables, indices, views and triggers are not exactly those that the
/// scripts make, with a StoreError that names one: an added trigger would be executed, and a
/// changed view would be trusted. Tables that SQLite adds by itself, such as the statistics of
/// ANALYZE, may be there. The scripts are executed in memory to see what they make, which takes
/// some milliseconds; this is skipped for a database whose schema_digest() is `digest`.
void refuse_other_schema(const sqlite::Connection& connection,
                         std::span<const std::string_view> scripts, std::string_view digest = {});

/// SHA-256 of all that is compared.
std::string schema_digest(const sqlite::Connection& connection);

}  // namespace acid

#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "store/queries.hpp"

namespace acid {

// Shared by the exports.

/// Takes an export's bytes, piece by piece. Throws Error when they cannot be written.
using Write = std::function<void(std::string_view)>;
/// Called after each run with the number of runs done so far.
using RunsDone = std::function<void(std::size_t)>;
/// A run in the form of `acid show --json`.
using RunJson = std::function<nlohmann::json(const RunDetail&)>;

/// The shortest digits that read back as the same number; "nan", "inf" and "-inf" by name.
std::string exact_digits(double value);
/// JSON has no NaN and no infinities; they are the texts of exact_digits().
nlohmann::json exact_json(double value);
/// JSON on one line, valid even when a string in it is not UTF-8.
std::string compact(const nlohmann::json& document);
/// JSON for files that people read: indented, one newline at the end.
std::string indented(const nlohmann::json& document);
/// Seconds since 1970 for a time in the store's form ("2024-05-01T12:30:05.250Z"); 0 when empty.
double unix_seconds(const std::string& iso);

}  // namespace acid

#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "store/queries.hpp"

namespace acid {

// What the exports have in common.

/// Takes an export's bytes, piece by piece. Throws Error when they cannot be written.
using Write = std::function<void(std::string_view)>;
/// Told how many of the runs are done, after each.
using RunsDone = std::function<void(std::size_t)>;
/// A run as `acid show --json` prints it.
using RunJson = std::function<nlohmann::json(const RunDetail&)>;

/// The shortest digits that read back as the same number; "nan", "inf" and "-inf" by name.
std::string exact_digits(double value);
/// JSON has no NaN and no infinities; they are the texts of exact_digits().
nlohmann::json exact_json(double value);
/// On one line, valid even when a string in it is not UTF-8.
std::string compact(const nlohmann::json& document);
/// For files that people read: indented, one newline at the end.
std::string indented(const nlohmann::json& document);
/// Seconds since 1970 of a time as the store has it ("2024-05-01T12:30:05.250Z"); 0 when empty.
double unix_seconds(const std::string& iso);

}  // namespace acid

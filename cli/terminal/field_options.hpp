#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "engine/base/fields.hpp"

namespace acid {

/// Options of a catalog entry given as "K=V" on a command line: every field present, from the
/// command line or its fallback. `what` names the entry in messages. Throws UsageError, with the
/// nearest known name, for unknown keys, wrong types, values out of range and missing keys.
nlohmann::json parse_field_options(std::span<const Field> fields,
                                   const std::vector<std::string>& assignments,
                                   const std::string& what);

}  // namespace acid

#pragma once

#include <string>
#include <string_view>

namespace acid {

/// Writes a checked machine file to machine_folder() and says so. Throws UsageError as
/// path_for_machine() does, and Error when it cannot be written.
void store_machine(const std::string& name, std::string_view text, bool force);
/// Where that is. Throws UsageError if the name is none, or taken and not `force`.
std::string path_for_machine(const std::string& name, bool force);

}  // namespace acid

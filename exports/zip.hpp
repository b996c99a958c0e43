#pragma once

#include <string>
#include <vector>

namespace acid {

/// Makes a ZIP archive `file`, which must not exist, of files in a folder, under their paths there
/// (ASCII, with slashes). The order is that of `paths`; times, owners and modes are not kept, so
/// that equal files give equal bytes. Throws Error with the reason; then there is no file.
void write_zip(const std::string& file, const std::string& folder,
               const std::vector<std::string>& paths);

}  // namespace acid

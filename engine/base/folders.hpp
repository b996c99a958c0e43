#pragma once

#include <string>

namespace acid {

/// Makes a folder with all that is missing above it; durable when it returns. Throws StoreError.
void create_folders(const std::string& path);
/// Makes the folder alone, where it is not there yet: what is above it must be. Likewise.
void create_folder(const std::string& path);

/// Makes durable which names a folder holds (empty: the current one). Throws StoreError.
void sync_folder(const std::string& folder);

}  // namespace acid

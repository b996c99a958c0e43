#pragma once

#include <string>

namespace acid {

/// Makes a folder and all missing folders above it; durable when it returns. Throws StoreError.
void create_folders(const std::string& path);
/// Makes only this folder, if it is missing: its parent must exist. Durable; throws StoreError.
void create_folder(const std::string& path);

/// Makes the names in a folder (empty: the current one) durable. Throws StoreError.
void sync_folder(const std::string& folder);

}  // namespace acid

#pragma once

#include <filesystem>
#include <string>

namespace acid {

/// The path, made absolute, or what exists of the folders above it.
std::filesystem::path existing_part(const std::string& path);

/// Makes a folder and all missing folders above it; durable when it returns. Throws StoreError.
void create_folders(const std::string& path);
/// Makes only this folder, if it is missing: its parent must exist. Durable; throws StoreError.
void create_folder(const std::string& path);

/// Makes the names in a folder (empty: the current one) durable. Throws StoreError.
void sync_folder(const std::string& folder);

}  // namespace acid

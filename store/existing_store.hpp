#pragma once

#include <filesystem>
#include <string>

#include "store/store.hpp"

namespace acid {

/// Whether there is a store in the folder.
inline bool store_exists(const std::string& folder) {
  std::error_code ignored;
  return std::filesystem::exists(std::filesystem::path(folder) / "store.db", ignored);
}

/// Opens a store for writing that must be there already; only `acid run` creates one. Throws
/// StoreError as Store does.
inline Store open_existing_store(const std::string& folder) {
  if (!store_exists(folder)) return Store(folder, Store::Access::read);  // throws and says why
  return Store(folder, Store::Access::write);
}

}  // namespace acid

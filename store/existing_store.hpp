#pragma once

#include <filesystem>
#include <string>

#include "store/store.hpp"

namespace acid {

/// Opens a store for writing that must be there already; only `acid run` creates one. Throws
/// StoreError as Store does.
inline Store open_existing_store(const std::string& folder) {
  std::error_code ignored;
  if (!std::filesystem::exists(std::filesystem::path(folder) / "store.db", ignored))
    return Store(folder, Store::Access::read);  // throws and says why
  return Store(folder, Store::Access::write);
}

}  // namespace acid

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

/// The folder of the store whose database that is, or that keeps it for a run. Empty: there is
/// none.
std::string store_that_keeps(const std::filesystem::path& file);

/// Opens a store for writing that must be there already; only `acid run` creates one. Throws
/// StoreError as Store does.
inline Store open_existing_store(const std::string& folder) {
  if (!store_exists(folder)) return Store(folder, Store::Access::read);  // throws and says why
  return Store(folder, Store::Access::write);
}

/// Brings a store that somebody else made to this acid's schema; `folder`: a copy of it. StoreError
/// for one from before what runs leave was sealed: what was altered in it cannot be found.
void bring_copy_up_to_date(const std::string& folder);

}  // namespace acid

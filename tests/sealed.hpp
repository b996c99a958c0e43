#pragma once

#include <string>
#include <vector>

#include "store/impl.hpp"
#include "store/proof.hpp"

namespace acid::test {

/// Changes records of runs in a store as if acid had written them: ended runs are sealed anew.
inline void write_as_acid(const std::string& folder, const std::string& sql) {
  const Store store(folder, Store::Access::write);
  const sqlite::Connection& connection = store.impl().connection();
  connection.execute(sql);
  std::vector<std::int64_t> runs;
  sqlite::Statement ended(connection,
                          "SELECT DISTINCT run FROM attempts WHERE outcome IS NOT NULL");
  while (ended.step()) runs.push_back(ended.integer(0));
  for (const std::int64_t run : runs) seal_left(connection, run);
}

}  // namespace acid::test

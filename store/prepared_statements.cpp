#include "store/prepared_statements.hpp"

#include <sqlite3.h>

namespace acid::sqlite {

sqlite3_stmt* PreparedStatements::take(std::string_view sql) {
  const auto found = kept_.find(sql);
  if (found == kept_.end()) return nullptr;
  sqlite3_stmt* const handle = found->second;
  kept_.erase(found);
  return handle;
}

void PreparedStatements::keep(sqlite3_stmt* handle) {
  sqlite3_reset(handle);
  sqlite3_clear_bindings(handle);
  if (kept_.size() >= kMost) clear();  // texts that are made anew each time would fill it
  kept_.emplace(sqlite3_sql(handle), handle);
}

void PreparedStatements::clear() {
  for (const auto& [sql, handle] : kept_) sqlite3_finalize(handle);
  kept_.clear();
}

}  // namespace acid::sqlite

#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

struct sqlite3_stmt;

namespace acid::sqlite {

/// Prepared statements that are not in use, by their text: to prepare one anew takes longer than
/// most of them run.
class PreparedStatements {
 public:
  PreparedStatements() = default;
  ~PreparedStatements() { clear(); }
  PreparedStatements(const PreparedStatements&) = delete;
  PreparedStatements& operator=(const PreparedStatements&) = delete;
  /// Null when there is none. The caller owns it.
  sqlite3_stmt* take(std::string_view sql);
  /// Ends what the statement is at, lets go of its values and keeps it.
  void keep(sqlite3_stmt* handle);

 private:
  void clear();
  static constexpr std::size_t kMost = 200;  // some kilobytes each
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>()(text);
    }
  };
  std::unordered_multimap<std::string, sqlite3_stmt*, Hash, std::equal_to<>> kept_;
};

}  // namespace acid::sqlite

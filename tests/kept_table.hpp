#pragma once

#include <cstdlib>
#include <string>

#include "tests/catch.hpp"
#include "tests/scratch.hpp"

namespace acid::test {

/// Checks that a page of the sources has this table, which the code makes: from its first line,
/// which stays, to `end` ("": the end of the page). With ACID_WRITE_TABLES, as scripts/tables says
/// it, writes the table into the page first.
inline void check_kept_table(const std::string& path, const std::string& table,
                             const std::string& end) {
  INFO(path << ": scripts/tables updates it");
  std::string page = content_of(path);
  const std::size_t from = page.find("\n" + table.substr(0, table.find('\n') + 1)) + 1;
  REQUIRE(from != 0);
  const std::size_t to = end.empty() ? page.size() : page.find(end, from);
  REQUIRE(to != std::string::npos);
  if (std::getenv("ACID_WRITE_TABLES") != nullptr)
    put(path, page.replace(from, to - from, table));
  else
    CHECK(page.substr(from, to - from) == table);
}

}  // namespace acid::test

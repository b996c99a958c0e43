#pragma once

#include <string>
#include <string_view>

#include "engine/base/digest.hpp"
#include "store/sqlite.hpp"

namespace acid {

/// A digest of rows: each column with its type and length, so that no value can pass for a part of
/// another, and each query marked, so that rows of one query cannot pass for rows of another. For
/// this folder only.
class RowDigest {
 public:
  explicit RowDigest(const sqlite::Connection& connection) : connection_(connection) {}

  template <class... Values>
  void add(std::string_view query, const Values&... values) {
    sqlite::Statement select(connection_, query);
    select.bind(values...);
    bytes_ += "query";
    while (select.step()) {
      select.append_row(bytes_);
      if (bytes_.size() >= kBytesAtOnce) flush();
    }
  }
  /// Ends the digest: call once.
  std::string hex() {
    flush();
    return digest_.hex();
  }

 private:
  static constexpr std::size_t kBytesAtOnce = 1 << 16;
  void flush() {
    digest_.update(bytes_);
    bytes_.clear();
  }

  const sqlite::Connection& connection_;
  Sha256 digest_;
  std::string bytes_;
};

}  // namespace acid

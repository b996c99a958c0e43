#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/data/splits.hpp"

namespace acid {

/// Labelled sparse examples, row after row (CSR). A plain value while it is filled; read only as a
/// Split.
class SparseRows final : public LabelledSplit {
 public:
  explicit SparseRows(std::int64_t columns) : LabelledSplit({}), columns_(columns) {}

  struct Row {
    std::span<const std::int32_t> columns;  // increasing, from 0
    std::span<const float> values;
  };

  void add_entry(std::int32_t column, float value) {
    entry_columns_.push_back(column);
    values_.push_back(value);
  }
  /// Ends a row, which has the entries added since the last call.
  void end_row(int label) {
    labels_.push_back(label);
    row_ends_.push_back(values_.size());
  }

  Row row(std::int64_t example) const {
    const auto e = static_cast<std::size_t>(example);
    const std::size_t begin = e == 0 ? 0 : row_ends_[e - 1], size = row_ends_[e] - begin;
    return {std::span(entry_columns_).subspan(begin, size),
            std::span(values_).subspan(begin, size)};
  }

  std::int64_t columns() const { return columns_; }
  std::int64_t entries() const { return std::ssize(values_); }
  void copy_features(std::int64_t example, std::span<float> out) const override;

 private:
  std::int64_t columns_;
  std::vector<std::int32_t> entry_columns_;
  std::vector<float> values_;
  std::vector<std::size_t> row_ends_;
};

/// Reads a LIBSVM text file, plain or .gz: `label index:value …` per line, indices from 1 and
/// increasing, `#` starts a comment. Labels are -1/+1, 0/1 or 1/2; the larger becomes class 1, the
/// smaller class 0. The largest index is the number of columns. A value too small for a float
/// becomes 0 or the nearest subnormal number. Throws Error naming file, line, expected and found.
SparseRows read_libsvm(const std::string& path);

}  // namespace acid

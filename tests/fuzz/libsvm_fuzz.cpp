// LIBSVM files: everything that is accepted has increasing columns, finite values and two classes.
#include <cmath>

#include "engine/data/sparse_rows.hpp"
#include "tests/fuzz/input.hpp"

namespace acid::fuzz {
namespace {

constexpr std::int64_t kFewColumns = 1 << 16;

void check(const SparseRows& rows) {
  std::vector<float> features;
  for (std::int64_t k = 0; k < rows.size(); ++k) {
    ACID_ASSERT(rows.label(k) == 0 || rows.label(k) == 1, "label {}", rows.label(k));
    const SparseRows::Row row = rows.row(k);
    std::int32_t previous = -1;
    for (std::size_t e = 0; e < row.values.size(); ++e) {
      ACID_ASSERT(row.columns[e] > previous && row.columns[e] < rows.columns(), "column {} of {}",
                  row.columns[e], rows.columns());
      ACID_ASSERT(std::isfinite(row.values[e]), "value {}", row.values[e]);
      previous = row.columns[e];
    }
    if (rows.columns() > kFewColumns) continue;
    features.resize(static_cast<std::size_t>(rows.columns()));
    rows.copy_features(k, features);
  }
}

}  // namespace
}  // namespace acid::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace acid::fuzz;
  static MemoryFile file;
  file.set(std::span(data, size));
  accepted([&] { check(acid::read_libsvm(file.path())); });
  return 0;
}

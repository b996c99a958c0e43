#include "engine/methods/all_reduce.hpp"

#include <bit>

#include "engine/base/error.hpp"

namespace acid {

AllReduceKind all_reduce_kind(std::string_view name) {
  if (name == "ring") return AllReduceKind::ring;
  if (name == "tree") return AllReduceKind::tree;
  if (name == "recursive-doubling") return AllReduceKind::recursive_doubling;
  ACID_ASSERT(name == "blocking", "an all-reduce called '{}'", name);
  return AllReduceKind::blocking;
}

double all_reduce_vectors(AllReduceKind kind, int workers) {
  if (workers < 2) return 0;
  if (kind != AllReduceKind::recursive_doubling) return 2.0 * (workers - 1);
  const auto n = static_cast<unsigned>(workers);
  const unsigned m = std::bit_floor(n);
  return static_cast<double>(m) * (std::bit_width(m) - 1) + 2.0 * (n - m);
}

}  // namespace acid

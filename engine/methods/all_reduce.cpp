#include "engine/methods/all_reduce.hpp"

#include <bit>

namespace acid {

double all_reduce_vectors(AllReduceKind kind, int workers) {
  if (workers < 2) return 0;
  if (kind != AllReduceKind::recursive_doubling) return 2.0 * (workers - 1);
  const auto n = static_cast<unsigned>(workers);
  const unsigned m = std::bit_floor(n);
  return static_cast<double>(m) * (std::bit_width(m) - 1) + 2.0 * (n - m);
}

}  // namespace acid

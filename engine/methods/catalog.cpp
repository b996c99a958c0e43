#include <array>

#include "engine/methods/method.hpp"

namespace acid {

#define ALGORITHM(stem, name) AlgorithmEntry stem##_entry();
#include "engine/methods/catalog.inc"
#undef ALGORITHM

std::span<const AlgorithmEntry> algorithm_catalog() {
  static const std::array entries = {
#define ALGORITHM(stem, name) stem##_entry(),
#include "engine/methods/catalog.inc"
#undef ALGORITHM
  };
  return entries;
}

const AlgorithmEntry* find_algorithm(std::string_view name) {
  for (const AlgorithmEntry& entry : algorithm_catalog())
    if (entry.name == name) return &entry;
  return nullptr;
}

double bytes_per_gradient(const Method& method, const Topology& topology, double vector_bytes,
                          AllReduceKind all_reduce) {
  const double n = topology.workers();
  if (n < 2) return 0;
  switch (method.pattern) {
    case Pattern::all_reduce:
      return all_reduce_vectors(all_reduce, topology.workers()) / n * vector_bytes;
    case Pattern::neighbours: {
      return vector_bytes * 2 * static_cast<double>(topology.edge_count()) / n;
    }
    case Pattern::pairwise:
      return method.rate * vector_bytes;
  }
  return 0;
}

}  // namespace acid

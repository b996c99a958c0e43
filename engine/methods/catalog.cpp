#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

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

bool numbers_are_of_seed(const nlohmann::json& options) {
  return options.value("spectral", "") == "realised";
}

std::vector<Shown> shown_by(const std::set<std::string>& algorithms) {
  std::vector<Shown> all;
  for (const AlgorithmEntry& entry : algorithm_catalog()) {
    if (!algorithms.contains(std::string(entry.name))) continue;
    for (const Shown& shown : entry.shown)
      if (std::ranges::find(all, shown.key, &Shown::key) == all.end()) all.push_back(shown);
  }
  return all;
}

std::vector<Shown> shown_by_any() {
  std::set<std::string> names;
  for (const AlgorithmEntry& entry : algorithm_catalog()) names.emplace(entry.name);
  return shown_by(names);
}

namespace {

double bytes_of(const Message& message, double vector_bytes) {
  return static_cast<double>(message.vectors) * vector_bytes +
         static_cast<double>(message.scalars * sizeof(double));
}

}  // namespace

double bytes_per_message(const Method& method, const Topology& topology, double vector_bytes,
                         AllReduceKind all_reduce) {
  const double copies = method.peers == Peers::all
                            ? all_reduce_vectors(all_reduce, topology.workers())
                            : 2 * static_cast<double>(topology.edge_count());
  return copies * bytes_of(method.message(), vector_bytes);
}

double bytes_per_gradient(const Method& method, const Topology& topology, double vector_bytes,
                          AllReduceKind all_reduce) {
  const double n = topology.workers();
  if (n < 2) return 0;
  if (method.has_meetings()) return method.rate * bytes_of(method.message(), vector_bytes);
  const auto legs = static_cast<std::int64_t>(method.round.legs().size());
  return bytes_per_message(method, topology, vector_bytes, all_reduce) *
         static_cast<double>(method.round.said_before(legs)) / static_cast<double>(legs) / n;
}

}  // namespace acid

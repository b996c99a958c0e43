#include <bit>

#include "engine/base/error.hpp"
#include "engine/topology/catalog.hpp"

namespace acid {
namespace {

Topology make_hypercube(int workers, const nlohmann::json&) {
  const auto size = static_cast<unsigned>(workers);
  if (!std::has_single_bit(size)) {
    throw UsageError(fmt::format(
        "topology 'hypercube' needs a power of two of workers, not {}; the nearest are {} and {}",
        workers, std::bit_floor(size), 2 * std::bit_floor(size)));
  }
  std::vector<Edge> edges;
  for (int i = 0; i < workers; ++i) {
    for (int bit = 1; bit < workers; bit *= 2) {
      if ((i & bit) == 0) edges.push_back({i, i | bit});
    }
  }
  const auto dimensions = static_cast<std::size_t>(std::countr_zero(size));
  return {"hypercube", workers, std::move(edges), std::vector<int>(dimensions, 2)};
}

}  // namespace

const TopologyEntry hypercube_topology{
    "hypercube",
    "workers meet those whose number differs in one binary digit",
    {},
    &make_hypercube};

}  // namespace acid

#include "engine/base/error.hpp"
#include "engine/topology/catalog.hpp"

namespace acid {
namespace {

Topology make_bipartite_exponential(int workers, const nlohmann::json&) {
  if (workers % 2 != 0) {
    throw UsageError(fmt::format(
        "topology 'bipartite-exponential' needs an even number of workers, not {}: odd hops "
        "around an odd cycle join workers of the same side",
        workers));
  }
  std::vector<int> hops{1};
  for (std::int64_t power = 2; power < workers; power *= 2) {
    hops.push_back(static_cast<int>(power + 1));
  }
  return circulant("bipartite-exponential", workers, hops);
}

}  // namespace

const TopologyEntry bipartite_exponential_topology{
    "bipartite-exponential",
    "worker i meets i ± 1, 3, 5, 9, 17, … below n: even workers only odd ones",
    {},
    &make_bipartite_exponential};

}  // namespace acid

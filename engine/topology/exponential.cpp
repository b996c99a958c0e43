#include "engine/topology/catalog.hpp"

namespace acid {
namespace {

Topology make_exponential(int workers, const nlohmann::json&) {
  std::vector<int> hops;
  for (std::int64_t hop = 1; hop < workers; hop *= 2) hops.push_back(static_cast<int>(hop));
  return circulant("exponential", workers, hops);
}

}  // namespace

const TopologyEntry exponential_topology{
    "exponential", "worker i meets i ± 1, 2, 4, 8, … below n", {}, &make_exponential};

}  // namespace acid

// The graphs of a few lines and without conditions.
#include "engine/topology/catalog.hpp"

namespace acid {
namespace {

Topology make_complete(int workers, const nlohmann::json&) { return Topology::complete(workers); }

Topology make_ring(int workers, const nlohmann::json&) { return circulant("ring", workers, {1}); }

Topology make_exponential(int workers, const nlohmann::json&) {
  std::vector<int> hops;
  for (std::int64_t hop = 1; hop < workers; hop *= 2) hops.push_back(static_cast<int>(hop));
  return circulant("exponential", workers, hops);
}

Topology make_chain(int workers, const nlohmann::json&) {
  std::vector<Edge> edges;
  for (int i = 1; i < workers; ++i) edges.push_back({i - 1, i});
  return {"chain", workers, std::move(edges)};
}

Topology make_star(int workers, const nlohmann::json&) {
  std::vector<Edge> edges;
  for (int leaf = 1; leaf < workers; ++leaf) edges.push_back({0, leaf});
  return {"star", workers, std::move(edges)};
}

}  // namespace

const TopologyEntry complete_topology{"complete", "every pair of workers", {}, &make_complete};
const TopologyEntry ring_topology{
    "ring", "a cycle; worker i meets i − 1 and i + 1", {}, &make_ring};
const TopologyEntry exponential_topology{
    "exponential", "worker i meets i ± 1, 2, 4, 8, … below n", {}, &make_exponential};
const TopologyEntry chain_topology{"chain", "a path; a ring with one edge cut", {}, &make_chain};
const TopologyEntry star_topology{"star", "every worker meets worker 0 only", {}, &make_star};

}  // namespace acid

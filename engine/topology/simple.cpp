// The graphs of a few lines.
#include <bit>

#include "engine/base/error.hpp"
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

void add_clique(int begin, int end, std::vector<Edge>& edges) {
  for (int i = begin; i < end; ++i) {
    for (int j = i + 1; j < end; ++j) edges.push_back({i, j});
  }
}

Topology make_barbell(int workers, const nlohmann::json&) {
  require_storable("barbell", 0.25 * workers * workers);
  const int half = workers / 2;
  std::vector<Edge> edges;
  add_clique(0, half, edges);
  add_clique(half, workers, edges);
  edges.push_back({half - 1, half});
  return {"barbell", workers, std::move(edges)};
}

}  // namespace

const TopologyEntry complete_topology{"complete", "every pair of workers", {}, &make_complete};
const TopologyEntry ring_topology{
    "ring", "a cycle; worker i meets i − 1 and i + 1", {}, &make_ring};
const TopologyEntry exponential_topology{
    "exponential", "worker i meets i ± 1, 2, 4, 8, … below n", {}, &make_exponential};
const TopologyEntry chain_topology{"chain", "a path; a ring with one edge cut", {}, &make_chain};
const TopologyEntry star_topology{"star", "every worker meets worker 0 only", {}, &make_star};
const TopologyEntry bipartite_exponential_topology{
    "bipartite-exponential",
    "worker i meets i ± 1, 3, 5, 9, 17, … below n: even workers only odd ones",
    {},
    &make_bipartite_exponential};
const TopologyEntry hypercube_topology{
    "hypercube",
    "workers meet those whose number differs in one binary digit",
    {},
    &make_hypercube};
const TopologyEntry barbell_topology{
    "barbell",
    "two complete graphs of half the workers each, joined by one edge",
    {},
    &make_barbell};

}  // namespace acid

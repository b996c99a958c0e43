#include "engine/topology/catalog.hpp"

namespace acid {
namespace {

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

const TopologyEntry barbell_topology{
    "barbell",
    "two complete graphs of half the workers each, joined by one edge",
    {},
    &make_barbell};

}  // namespace acid

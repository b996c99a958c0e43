#include "engine/topology/catalog.hpp"

namespace acid {
namespace {

Topology make_star(int workers, const nlohmann::json&) {
  std::vector<Edge> edges;
  for (int leaf = 1; leaf < workers; ++leaf) edges.push_back({0, leaf});
  return {"star", workers, std::move(edges)};
}

}  // namespace

const TopologyEntry star_topology{"star", "every worker meets worker 0 only", {}, &make_star};

}  // namespace acid

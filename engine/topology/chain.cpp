#include "engine/topology/catalog.hpp"

namespace acid {
namespace {

Topology make_chain(int workers, const nlohmann::json&) {
  std::vector<Edge> edges;
  for (int i = 1; i < workers; ++i) edges.push_back({i - 1, i});
  return {"chain", workers, std::move(edges)};
}

}  // namespace

const TopologyEntry chain_topology{"chain", "a path; a ring with one edge cut", {}, &make_chain};

}  // namespace acid

#include "engine/topology/catalog.hpp"

namespace acid {
namespace {
Topology make_ring(int workers, const nlohmann::json&) { return circulant("ring", workers, {1}); }
}  // namespace

const TopologyEntry ring_topology{
    "ring", "a cycle; worker i meets i − 1 and i + 1", {}, &make_ring};

}  // namespace acid

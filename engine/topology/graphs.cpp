#include <algorithm>
#include <cctype>
#include <sstream>

#include "engine/base/error.hpp"
#include "engine/base/names.hpp"
#include "engine/topology/catalog.hpp"
#include "engine/topology/mixing_schedule.hpp"

namespace acid {
namespace {

constexpr Field kGraphsFields[] = {
    {"graphs", FieldType::text, "\"ring, exponential\"",
     "kinds, as they are, between commas, in turn; \"15 ring, complete\": the ring 15 times"},
};

constexpr int kMostTimes = 10'000;

/// A count and a graph: "15 ring".
struct Turn {
  int times = 1;
  std::string kind;
};

Turn turn_of(const std::string& text) {
  std::istringstream words(text);
  Turn turn;
  if (std::isdigit((words >> std::ws).peek()) != 0) {
    words >> turn.times;
    if (!words || turn.times < 1 || turn.times > kMostTimes)
      throw UsageError(
          fmt::format("topology 'graphs': '{}' is not for 1 to {} exchanges", text, kMostTimes));
  }
  words >> turn.kind;
  std::string more;
  if (words >> more)
    throw UsageError(
        fmt::format("topology 'graphs': '{}' is not a kind or a number and a kind; "
                    "put commas between kinds",
                    text));
  return turn;
}

Topology make_graphs(int workers, const nlohmann::json& options) {
  const std::string kinds = text(options, "graphs");
  std::vector<MixingMatrix> matrices;
  std::vector<Edge> edges;
  for (const std::string_view part : split_at(kinds, ',')) {
    const Turn turn = turn_of(std::string(part));
    const Topology graph = base_graph("graphs", workers, turn.kind);
    require_storable("graphs", static_cast<double>(graph.edge_count()) * turn.times);
    matrices.insert(matrices.end(), static_cast<std::size_t>(turn.times),
                    metropolis_weights(graph));
    add_edges(matrices.back(), edges);
  }
  return scheduled("graphs", workers, edges, cycle_of(std::move(matrices)));
}

}  // namespace

/// Gossip-PGA (Chen et al. 2021, 2105.09080) is D-PSGD on "15 ring, complete".
const TopologyEntry graphs_topology{"graphs", "the graphs of a list in turn, Metropolis weights",
                                    kGraphsFields, &make_graphs};

}  // namespace acid

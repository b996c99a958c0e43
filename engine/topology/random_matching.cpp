#include "engine/topology/catalog.hpp"
#include "engine/topology/mixing_schedule.hpp"

namespace acid {
namespace {

constexpr Field kRandomMatchingFields[] = {
    {"base", FieldType::text, "\"complete\"",
     "the graph whose edges may pair workers: a kind without options"},
};

Topology make_random_matching(int workers, const nlohmann::json& options) {
  Topology base = base_graph("random-matching", workers, text(options, "base"));
  auto schedule = random_matching(base);
  return std::move(base).on_schedule("random-matching", std::move(schedule));
}

}  // namespace

/// One message per worker and exchange, fewer if some workers find no partner.
const TopologyEntry random_matching_topology{
    "random-matching", "random pairs of a base graph's neighbours, drawn anew for every exchange",
    kRandomMatchingFields, &make_random_matching};

}  // namespace acid

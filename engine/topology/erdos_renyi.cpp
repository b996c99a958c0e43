#include <cmath>

#include "engine/base/error.hpp"
#include "engine/base/rng.hpp"
#include "engine/topology/catalog.hpp"

namespace acid {
namespace {

constexpr Field kErdosRenyiFields[] = {
    {"p", FieldType::number, "0.5", "probability of each pair being an edge", 0, 1, true},
    {"seed", FieldType::integer, "0", "which random graph; independent of the run's seed", 0},
};

/// Visits each pair j < i with probability p by drawing the gaps between visits, so that the cost
/// is proportional to the number of edges (Batagelj & Brandes 2005).
std::vector<Edge> draw_edges(int workers, double p, Stream stream) {
  std::vector<Edge> edges;
  std::int64_t i = 1, j = -1;
  while (i < workers) {
    const double gap = p == 1 ? 0 : std::floor(-stream.exponential() / std::log1p(-p));
    // A gap past every remaining pair, which for tiny p exceeds the range of integers.
    if (gap > 0.5 * workers * workers) break;
    j += 1 + static_cast<std::int64_t>(gap);
    while (j >= i && i < workers) j -= i++;
    if (i < workers) edges.push_back({static_cast<int>(j), static_cast<int>(i)});
  }
  return edges;
}

Topology make_erdos_renyi(int workers, const nlohmann::json& options) {
  const double p = number(options, "p");
  if (!(p > 0 && p <= 1)) {
    throw UsageError(fmt::format("topology 'erdos-renyi': p = {}; it must be in (0, 1]", p));
  }
  require_storable("erdos-renyi", 0.5 * p * workers * workers);
  const auto seed = static_cast<std::uint64_t>(integer(options, "seed"));
  auto edges = draw_edges(workers, p, Stream(derive_seed(seed, 0, Purpose::topology)));
  try {
    return {"erdos-renyi", workers, std::move(edges)};
  } catch (const UsageError& disconnected) {
    throw UsageError(fmt::format(
        "{}: choose another seed or a larger p (above ln n / n = {:.3g} it is likely connected)",
        disconnected.what(), std::log(workers) / workers));
  }
}

}  // namespace

const TopologyEntry erdos_renyi_topology{
    "erdos-renyi", "each pair is an edge with probability p; an error unless connected",
    kErdosRenyiFields, &make_erdos_renyi};

}  // namespace acid

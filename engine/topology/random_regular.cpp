#include <algorithm>
#include <optional>
#include <unordered_set>

#include "engine/base/error.hpp"
#include "engine/base/rng.hpp"
#include "engine/topology/catalog.hpp"
#include "engine/topology/components.hpp"

namespace acid {
namespace {

constexpr Field kRandomRegularFields[] = {
    {"degree", FieldType::integer, "4", "neighbours per worker; workers × degree is even", 1},
    {"seed", FieldType::integer, "0", "which random graph; independent of the run's seed", 0},
};

using PairKeys = std::unordered_set<std::uint64_t>;

std::uint64_t pair_key(int i, int j) {
  const auto [low, high] = std::minmax(i, j);
  return static_cast<std::uint64_t>(low) << 32 | static_cast<std::uint64_t>(high);
}

bool any_suitable(const std::vector<int>& points, const PairKeys& used) {
  for (std::size_t a = 0; a < points.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      if (points[a] != points[b] && !used.contains(pair_key(points[a], points[b]))) return true;
    }
  }
  return false;
}

/// One attempt of the pairing model: every worker has `degree` points; two random points at a time
/// become an edge unless that would be a loop or a repetition (Steger & Wormald 1999, whose graphs
/// are asymptotically uniform). Absent when the remaining points cannot be paired.
std::optional<std::vector<Edge>> try_pairing(int workers, int degree, Stream& stream) {
  std::vector<int> points;
  for (int i = 0; i < workers; ++i)
    points.insert(points.end(), static_cast<std::size_t>(degree), i);
  std::vector<Edge> edges;
  PairKeys used;
  int refusals = 0;
  while (!points.empty()) {
    // Moves the two drawn points to the end of the list.
    for (std::size_t place : {points.size() - 1, points.size() - 2}) {
      std::swap(points[place], points[stream.below(place + 1)]);
    }
    const int i = points.back(), j = points[points.size() - 2];
    if (i != j && used.insert(pair_key(i, j)).second) {
      edges.push_back({i, j});
      points.resize(points.size() - 2);
      refusals = 0;
    } else if (++refusals >= 100) {
      // So many refusals happen only near the end; then it is cheap to look for a suitable pair.
      if (!any_suitable(points, used)) return std::nullopt;
      refusals = 0;
    }
  }
  return edges;
}

std::vector<Edge> complement(int workers, const std::vector<Edge>& edges) {
  PairKeys used;
  for (const Edge& edge : edges) used.insert(pair_key(edge.i, edge.j));
  std::vector<Edge> others;
  for (int i = 0; i < workers; ++i) {
    for (int j = i + 1; j < workers; ++j) {
      if (!used.contains(pair_key(i, j))) others.push_back({i, j});
    }
  }
  return others;
}

// Pairing gets stuck on dense graphs; their complements are sparse and equally uniform.
std::optional<std::vector<Edge>> try_regular(int workers, int degree, Stream& stream) {
  const bool dense = degree > (workers - 1) / 2;
  auto edges = try_pairing(workers, dense ? workers - 1 - degree : degree, stream);
  if (edges && dense) *edges = complement(workers, *edges);
  return edges;
}

void check_degree(int workers, std::int64_t degree) {
  if (degree < 1 || degree >= workers || workers * degree % 2 != 0) {
    throw UsageError(fmt::format(
        "topology 'random-regular': no graph gives each of {} workers {} neighbours; degree must "
        "be from 1 to {} and workers × degree even",
        workers, degree, workers - 1));
  }
  if (degree == 1 && workers > 2) {
    throw UsageError(
        "topology 'random-regular': with degree 1 only pairs are connected; use degree 3 or more");
  }
}

Topology make_random_regular(int workers, const nlohmann::json& options) {
  const std::int64_t asked = integer(options, "degree");
  check_degree(workers, asked);
  require_storable("random-regular", 0.5 * static_cast<double>(asked) * workers);
  const int degree = static_cast<int>(asked);
  const auto seed = static_cast<std::uint64_t>(integer(options, "seed"));
  Stream stream(derive_seed(seed, 0, Purpose::topology));
  constexpr int kAttempts = 1000;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    auto edges = try_regular(workers, degree, stream);
    if (!edges) continue;
    if (connected_components(workers, *edges).size() > 1) continue;
    return {"random-regular", workers, *std::move(edges)};
  }
  throw UsageError(fmt::format(
      "topology 'random-regular': no connected graph of {} workers with degree {} in {} attempts; "
      "use another degree (for degree 2, kind = \"ring\")",
      workers, degree, kAttempts));
}

}  // namespace

std::vector<Edge> regular_edges(int workers, int degree, Stream& stream) {
  while (true)
    if (auto edges = try_regular(workers, degree, stream)) return *std::move(edges);
}

const TopologyEntry random_regular_topology{
    "random-regular", "a random connected graph with `degree` neighbours for everyone",
    kRandomRegularFields, &make_random_regular};

}  // namespace acid

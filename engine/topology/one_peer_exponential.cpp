#include <bit>
#include <nlohmann/json.hpp>

#include "engine/base/error.hpp"
#include "engine/topology/catalog.hpp"
#include "engine/topology/laplacian.hpp"
#include "engine/topology/mixing_schedule.hpp"

namespace acid {
namespace {

constexpr Field kOnePeerFields[] = {
    {"directed", FieldType::boolean, "true",
     "hear from i - 2^k and send to i + 2^k; false: pairs whose numbers differ in bit k"},
};

MixingMatrix from_distance(int workers, int hop) {
  MixingMatrix matrix{std::vector<double>(at(workers), 0.5), {}};
  for (int i = 0; i < workers; ++i)
    matrix.neighbours.push_back({{(i + workers - hop) % workers, 0.5}});
  return matrix;
}

MixingMatrix by_bit(int workers, int bit) {
  std::vector<std::pair<int, int>> pairs;
  for (int i = 0; i < workers; ++i)
    if ((i & bit) == 0) pairs.emplace_back(i, i | bit);
  return averaging(workers, pairs);
}

Topology make_one_peer_exponential(int workers, const nlohmann::json& options) {
  const bool directed = options.at("directed").get<bool>();
  if (!directed && !std::has_single_bit(static_cast<unsigned>(workers)))
    throw UsageError(fmt::format(
        "topology 'one-peer-exponential': {} workers cannot be paired by the bits of their "
        "numbers; use a power of two, or leave out directed = false",
        workers));
  std::vector<MixingMatrix> matrices;
  std::vector<Edge> edges;
  for (int hop = 1; hop < workers; hop *= 2) {
    matrices.push_back(directed ? from_distance(workers, hop) : by_bit(workers, hop));
    add_edges(matrices.back(), edges);
  }
  return scheduled("one-peer-exponential", workers, edges, cycle_of(std::move(matrices)));
}

}  // namespace

/// Assran et al. 2018 (1811.10792); Ying et al. 2021 (2110.13363): for n = 2^k the product over the
/// period ⌈log₂ n⌉ is 11ᵀ/n, in either form. One message per worker and exchange.
const TopologyEntry one_peer_exponential_topology{
    "one-peer-exponential",
    "in exchange e each worker hears only the one 2^(e mod log2 n) before it", kOnePeerFields,
    &make_one_peer_exponential};

}  // namespace acid

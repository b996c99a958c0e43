#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/fields.hpp"

namespace acid {

/// An undirected edge, i < j. A neighbour listed twice has weight 2.
struct Edge {
  int i = 0;
  int j = 0;
  double weight = 1;
};

struct Neighbour {
  int worker = 0;
  double weight = 1;
};

class MixingSchedule;

/// Who can exchange with whom: a weighted undirected connected graph on workers 0 … n − 1.
/// Immutable; safe to share between threads. `complete` stores no edges, for any n.
class Topology {
 public:
  /// Duplicate pairs are merged by adding weights. Throws UsageError for i = j, an index out of
  /// range, a weight ≤ 0, or a disconnected graph (the message names the components).
  /// `cycles` may state a symmetry, see cycles().
  Topology(std::string kind, int workers, std::vector<Edge> edges, std::vector<int> cycles = {});
  static Topology complete(int workers);

  const std::string& kind() const { return kind_; }
  int workers() const { return workers_; }
  bool is_complete() const { return complete_; }

  /// How many of the edges that it was made of were listed before.
  std::int64_t repeated_edges() const { return repeated_edges_; }
  /// Whether all weights of the edges that it was made of are 1.
  bool has_unit_weights() const { return unit_weights_; }
  /// Number of distinct edges.
  std::int64_t edge_count() const;
  /// Every edge once, ordered by (i, j); for `complete` they are generated.
  void for_each_edge(const std::function<void(const Edge&)>& visit) const;
  bool adjacent(int i, int j) const;
  /// dᵢ: the sum of worker i's neighbour weights.
  double degree(int i) const;
  /// Number of distinct neighbours.
  int neighbour_count(int i) const;
  /// Neighbours in ascending order. Empty for `complete`: use neighbour_count and draw_neighbour.
  std::span<const Neighbour> neighbours(int i) const;
  /// The neighbour that uniform u ∈ [0, 1) selects with probability wᵢⱼ/dᵢ.
  int draw_neighbour(int i, double u) const;
  /// drawn[k] = draw_neighbour(workers[k], u[k]) for all k; the memory accesses overlap.
  void draw_neighbours(std::span<const int> workers, std::span<const double> u,
                       std::span<int> drawn) const;
  /// λᵢⱼ = (r/2)(wᵢⱼ/dᵢ + wᵢⱼ/dⱼ): expected exchanges of the edge per unit of
  /// normalised time at communication rate r; 0 when not adjacent. Sums to rn/2 over edges.
  double edge_rate(int i, int j, double rate) const;
  /// Λᵢᵢ = Σⱼ λᵢⱼ: expected exchanges of worker i per unit of normalised time.
  double worker_rate(int i, double rate) const;
  /// Lengths m₁ … mₖ whose product is n, for a graph that looks the same from every worker: write
  /// worker i's number in that mixed radix (last digit fastest); adding the same digits to all
  /// workers, each modulo its length, maps edges to edges. Empty: no such symmetry is known. A ring
  /// has {n}, a torus {rows, columns}. The closed forms of spectral.hpp use it.
  std::span<const int> cycles() const { return cycles_; }
  /// The edges that each exchange of a run of rounds uses, and their directions
  /// (mixing_schedule.hpp); null: all edges, both ways, in each exchange.
  const std::shared_ptr<const MixingSchedule>& schedule() const { return schedule_; }
  /// This graph, taken as the graph of all edges that the schedule uses.
  Topology on_schedule(std::string kind, std::shared_ptr<const MixingSchedule> schedule) &&;

 private:
  Topology() = default;
  std::string kind_;
  int workers_ = 0;
  bool complete_ = false;
  std::vector<std::int64_t> first_;  // neighbours of i: [first_[i], first_[i + 1])
  std::vector<Neighbour> neighbours_;
  std::vector<double> cumulative_;  // parallel to neighbours_: running weight within a worker
  std::vector<double> degree_;
  bool unit_weights_ = true;
  std::int64_t repeated_edges_ = 0;
  std::vector<int> cycles_;
  std::shared_ptr<const MixingSchedule> schedule_;
};

/// A kind of topology that recipes can name.
struct TopologyEntry {
  std::string_view name;  // what a recipe writes: "bipartite-exponential"
  std::string_view summary;
  std::span<const Field> fields;  // besides kind
  /// `options` holds every field. Throws UsageError for an impossible size. workers ≥ 2.
  Topology (*make)(int workers, const nlohmann::json& options);
};

/// In catalog order.
std::span<const TopologyEntry> topology_catalog();
/// nullptr when unknown.
const TopologyEntry* find_topology(std::string_view name);
/// Makes the topology of resolved options with "kind"; n = 1 gives a graph without edges.
Topology make_topology(int workers, const nlohmann::json& options);

/// Metropolis–Hastings weights Wᵢⱼ = 1/(1 + max(dᵢ, dⱼ)) (symmetric, doubly stochastic), or uniform
/// weights Wᵢⱼ = 1/(1 + d), which need a regular graph (UsageError otherwise). Degrees count
/// distinct neighbours. Row-sparse: for each worker its own weight and its neighbours'; for
/// `complete` these are n² entries.
struct MixingMatrix {
  std::vector<double> self;
  std::vector<std::vector<Neighbour>> neighbours;  // weight = Wᵢⱼ, ascending worker

  /// The excess of row i's weights over 1: exactly 0 unless it is more than rounding.
  double excess(int i) const;
};
MixingMatrix metropolis_weights(const Topology& topology);
MixingMatrix uniform_weights(const Topology& topology);
/// λₙ(W), to 1e-9 or so: by powers of I − W, whose largest eigenvalue is 1 − λₙ.
double least_eigenvalue(const MixingMatrix& weights);

}  // namespace acid

#include "engine/topology/topology.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>
#include <utility>

#include "engine/base/error.hpp"
#include "engine/base/fetch.hpp"
#include "engine/topology/components.hpp"
#include "engine/topology/laplacian.hpp"

namespace acid {
namespace {

void check_edges(const std::string& kind, int workers, const std::vector<Edge>& edges) {
  constexpr double kLeastShare = 1e-12;  // what spectra in double still tell
  double heaviest = 0;
  for (const Edge& edge : edges) heaviest = std::max(heaviest, edge.weight);
  for (const Edge& edge : edges) {
    const auto fail = [&](const std::string& what) {
      throw UsageError(fmt::format("topology '{}': edge [{}, {}] {}", kind, edge.i, edge.j, what));
    };
    for (const int end : {edge.i, edge.j}) {
      if (end < 0 || end >= workers) {
        fail(fmt::format("names worker {}; workers are 0 to {}", end, workers - 1));
      }
    }
    if (edge.i == edge.j) fail("joins a worker to itself; remove it");
    if (!(edge.weight > 0) || !std::isfinite(edge.weight)) {
      fail(fmt::format("has weight {}; it must be positive and finite", edge.weight));
    }
    if (edge.weight < 1e-100 || edge.weight > 1e100 || edge.weight < kLeastShare * heaviest)
      fail(
          fmt::format("has weight {}, and the heaviest edge {}; weights are 1e-100 to 1e100, and "
                      "at least {} of the heaviest",
                      edge.weight, heaviest, kLeastShare));
  }
}

/// Orders the ends of each edge, sorts, and adds the weights of edges listed more than once.
std::vector<Edge> merged(std::vector<Edge> edges) {
  for (Edge& edge : edges) {
    if (edge.i > edge.j) std::swap(edge.i, edge.j);
  }
  std::ranges::stable_sort(edges, {}, [](const Edge& e) { return std::pair(e.i, e.j); });
  std::size_t kept = 0;
  for (const Edge& edge : edges) {
    if (kept > 0 && edges[kept - 1].i == edge.i && edges[kept - 1].j == edge.j) {
      edges[kept - 1].weight += edge.weight;
    } else {
      edges[kept++] = edge;
    }
  }
  edges.resize(kept);
  return edges;
}

}  // namespace

Topology::Topology(std::string kind, int workers, std::vector<Edge> edges, std::vector<int> cycles)
    : kind_(std::move(kind)), workers_(workers), cycles_(std::move(cycles)) {
  if (workers < 1) {
    throw UsageError(
        fmt::format("topology '{}': {} workers; there must be at least 1", kind_, workers));
  }
  check_edges(kind_, workers, edges);
  repeated_edges_ = std::ssize(edges);
  edges = merged(std::move(edges));
  repeated_edges_ -= std::ssize(edges);
  const auto components = connected_components(workers, edges);
  if (components.size() > 1) {
    throw UsageError(fmt::format(
        "topology '{}' is disconnected: its {} components are {}; workers of different components "
        "would never agree, so add edges between them",
        kind_, components.size(), describe_components(components)));
  }

  first_.assign(at(workers) + 1, 0);
  for (const Edge& edge : edges) {
    ++first_[at(edge.i) + 1];
    ++first_[at(edge.j) + 1];
  }
  for (int i = 0; i < workers; ++i) first_[at(i) + 1] += first_[at(i)];
  // Edges come ordered by (i, j), so every worker's neighbours arrive in ascending order.
  neighbours_.resize(2 * edges.size());
  std::vector<std::int64_t> next(first_.begin(), first_.end() - 1);
  for (const Edge& edge : edges) {
    neighbours_[at(next[at(edge.i)]++)] = {edge.j, edge.weight};
    neighbours_[at(next[at(edge.j)]++)] = {edge.i, edge.weight};
  }
  cumulative_.resize(neighbours_.size());
  degree_.resize(at(workers));
  for (int i = 0; i < workers; ++i) {
    double sum = 0;
    for (std::int64_t k = first_[at(i)]; k < first_[at(i) + 1]; ++k) {
      cumulative_[at(k)] = sum += neighbours_[at(k)].weight;
    }
    degree_[at(i)] = sum;
  }
  unit_weights_ = std::ranges::all_of(edges, [](const Edge& edge) { return edge.weight == 1; });
}

Topology Topology::complete(int workers) {
  ACID_ASSERT(workers >= 1, "{} workers", workers);
  Topology topology;
  topology.kind_ = "complete";
  topology.workers_ = workers;
  topology.complete_ = true;
  return topology;
}

Topology Topology::on_schedule(std::string kind,
                               std::shared_ptr<const MixingSchedule> schedule) && {
  kind_ = std::move(kind);
  schedule_ = std::move(schedule);
  return std::move(*this);
}

std::int64_t Topology::edge_count() const {
  if (complete_) return static_cast<std::int64_t>(workers_) * (workers_ - 1) / 2;
  return static_cast<std::int64_t>(neighbours_.size()) / 2;
}

void Topology::for_each_edge(const std::function<void(const Edge&)>& visit) const {
  for (int i = 0; i < workers_; ++i) {
    if (complete_) {
      for (int j = i + 1; j < workers_; ++j) visit({i, j, 1});
      continue;
    }
    for (const Neighbour& neighbour : neighbours(i)) {
      if (neighbour.worker > i) visit({i, neighbour.worker, neighbour.weight});
    }
  }
}

namespace {
/// The entry of an ascending neighbour list, or nullptr.
const Neighbour* find(std::span<const Neighbour> list, int worker) {
  const auto found = std::ranges::lower_bound(list, worker, {}, &Neighbour::worker);
  return found == list.end() || found->worker != worker ? nullptr : &*found;
}
}  // namespace

bool Topology::adjacent(int i, int j) const {
  return complete_ ? i != j : find(neighbours(i), j) != nullptr;
}

double Topology::degree(int i) const { return complete_ ? workers_ - 1 : degree_[at(i)]; }

int Topology::neighbour_count(int i) const {
  return complete_ ? workers_ - 1 : static_cast<int>(first_[at(i) + 1] - first_[at(i)]);
}

std::span<const Neighbour> Topology::neighbours(int i) const {
  if (complete_) return {};
  return std::span(neighbours_).subspan(at(first_[at(i)]), at(first_[at(i) + 1] - first_[at(i)]));
}

int Topology::draw_neighbour(int i, double u) const {
  ACID_ASSERT(workers_ >= 2, "a single worker has no neighbour");
  if (complete_) {
    // The minimum guards against rounding of u · (n − 1) up to n − 1.
    const int k = std::min(static_cast<int>(u * (workers_ - 1)), workers_ - 2);
    return k < i ? k : k + 1;
  }
  const auto begin = cumulative_.begin() + first_[at(i)];
  const auto last = cumulative_.begin() + first_[at(i) + 1] - 1;
  const auto chosen = std::upper_bound(begin, last, u * degree_[at(i)]);
  return neighbours_[at(chosen - cumulative_.begin())].worker;
}

void Topology::draw_neighbours(std::span<const int> workers, std::span<const double> u,
                               std::span<int> drawn) const {
  if (complete_ || !unit_weights_) {
    for (std::size_t k = 0; k < drawn.size(); ++k) drawn[k] = draw_neighbour(workers[k], u[k]);
    return;
  }
  for (const int i : workers) fetch(&first_[at(i)]);
  // When all weights are 1 the running sums are 1, 2, …: no search is needed.
  constexpr std::size_t kTogether = 64;
  std::array<const Neighbour*, kTogether> places;
  for (std::size_t begin = 0; begin < drawn.size(); begin += kTogether) {
    const std::size_t count = std::min(kTogether, drawn.size() - begin);
    for (std::size_t k = 0; k < count; ++k) {
      const std::int64_t first = first_[at(workers[begin + k])];
      const std::int64_t last = first_[at(workers[begin + k]) + 1] - 1;
      const double offset = u[begin + k] * static_cast<double>(last + 1 - first);
      places[k] = &neighbours_[at(std::min(first + static_cast<std::int64_t>(offset), last))];
      fetch(places[k]);
    }
    for (std::size_t k = 0; k < count; ++k) drawn[begin + k] = places[k]->worker;
  }
}

double Topology::edge_rate(int i, int j, double rate) const {
  if (complete_) return i == j ? 0 : rate / (workers_ - 1);
  const Neighbour* neighbour = find(neighbours(i), j);
  if (!neighbour) return 0;
  return rate / 2 * (neighbour->weight / degree_[at(i)] + neighbour->weight / degree_[at(j)]);
}

double Topology::worker_rate(int i, double rate) const {
  if (workers_ == 1) return 0;
  if (complete_) return rate;
  double shares = 1;  // its own initiatives; its neighbours add theirs
  for (const Neighbour& neighbour : neighbours(i)) {
    shares += neighbour.weight / degree_[at(neighbour.worker)];
  }
  return rate / 2 * shares;
}

}  // namespace acid

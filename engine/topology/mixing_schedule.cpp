#include "engine/topology/mixing_schedule.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/base/rng.hpp"
#include "engine/topology/laplacian.hpp"

namespace acid {
namespace {

class Cycle final : public MixingSchedule {
 public:
  explicit Cycle(std::vector<MixingMatrix> matrices) : matrices_(std::move(matrices)) {}
  MixingMatrix matrix(std::int64_t exchange, std::uint64_t) const override {
    return matrices_[at(exchange % period())];
  }
  std::int64_t period() const override { return static_cast<std::int64_t>(matrices_.size()); }

 private:
  const std::vector<MixingMatrix> matrices_;
};

class RandomMatching final : public MixingSchedule {
 public:
  explicit RandomMatching(const Topology& topology)
      : workers_(topology.workers()), complete_(topology.is_complete()) {
    if (!complete_)
      topology.for_each_edge([&](const Edge& edge) { edges_.emplace_back(edge.i, edge.j); });
  }
  MixingMatrix matrix(std::int64_t exchange, std::uint64_t seed) const override {
    Stream stream(seed, static_cast<std::uint64_t>(exchange));
    return averaging(workers_, complete_ ? pairs_of_all(stream) : pairs(stream));
  }

 private:
  std::vector<std::pair<int, int>> pairs_of_all(Stream& stream) const {
    std::vector<int> order(at(workers_));
    std::iota(order.begin(), order.end(), 0);
    stream.shuffle(order);
    std::vector<std::pair<int, int>> joined;
    for (std::size_t k = 1; k < order.size(); k += 2) joined.emplace_back(order[k - 1], order[k]);
    return joined;
  }
  std::vector<std::pair<int, int>> pairs(Stream& stream) const {
    std::vector<std::pair<int, int>> order = edges_, joined;
    stream.shuffle(order);
    std::vector<bool> is_joined(at(workers_));
    for (const auto& [i, j] : order) {
      if (is_joined[at(i)] || is_joined[at(j)]) continue;
      is_joined[at(i)] = is_joined[at(j)] = true;
      joined.emplace_back(i, j);
    }
    return joined;
  }

  const int workers_;
  const bool complete_;
  std::vector<std::pair<int, int>> edges_;
};

}  // namespace

std::shared_ptr<const MixingSchedule> cycle_of(std::vector<MixingMatrix> matrices) {
  return std::make_shared<const Cycle>(std::move(matrices));
}

std::shared_ptr<const MixingSchedule> random_matching(const Topology& topology) {
  return std::make_shared<const RandomMatching>(topology);
}

MixingMatrix averaging(int workers, const std::vector<std::pair<int, int>>& pairs) {
  MixingMatrix matrix{std::vector<double>(at(workers), 1.0), {}};
  matrix.neighbours.resize(at(workers));
  for (const auto& [i, j] : pairs)
    for (const auto& [worker, partner] : {std::pair(i, j), std::pair(j, i)}) {
      matrix.self[at(worker)] = 0.5;
      matrix.neighbours[at(worker)] = {{partner, 0.5}};
    }
  return matrix;
}

std::vector<std::vector<int>> receivers_of(const MixingMatrix& matrix) {
  std::vector<std::vector<int>> receivers(matrix.neighbours.size());
  for (std::size_t i = 0; i < receivers.size(); ++i)
    for (const Neighbour& heard : matrix.neighbours[i])
      receivers[at(heard.worker)].push_back(static_cast<int>(i));
  return receivers;
}

std::int64_t messages_of(const MixingMatrix& matrix) {
  std::int64_t messages = 0;
  for (const auto& row : matrix.neighbours) messages += static_cast<std::int64_t>(row.size());
  return messages;
}

std::int64_t telling_exchanges(const MixingSchedule& schedule, int workers) {
  constexpr std::int64_t kRows = 100'000, kLeast = 20, kMost = 1000;
  return schedule.period() > 0 ? schedule.period() : std::clamp(kRows / workers, kLeast, kMost);
}

namespace {

// The workers that worker i hears, and itself, if all of them have the mean of these.
std::vector<int> group_around(const MixingMatrix& matrix, int i) {
  constexpr double kRounding = 1e-12;
  std::vector<int> group{i};
  for (const Neighbour& heard : matrix.neighbours[at(i)]) group.push_back(heard.worker);
  std::ranges::sort(group);
  const double share = 1.0 / static_cast<double>(group.size());
  const auto is_share = [&](double weight) { return std::abs(weight - share) < kRounding; };
  for (const int member : group) {
    const std::vector<Neighbour>& heard = matrix.neighbours[at(member)];
    if (heard.size() + 1 != group.size() || !is_share(matrix.self[at(member)])) return {};
    for (const Neighbour& other : heard)
      if (!is_share(other.weight) || !std::ranges::binary_search(group, other.worker)) return {};
  }
  return group;
}

}  // namespace

WorkerGroups groups_of(const MixingMatrix& matrix) {
  WorkerGroups groups;
  std::vector<bool> has_group(matrix.self.size());
  for (std::size_t i = 0; i < has_group.size(); ++i) {
    if (has_group[i]) continue;
    groups.push_back(group_around(matrix, static_cast<int>(i)));
    if (groups.back().empty()) return {};
    for (const int member : groups.back()) has_group[at(member)] = true;
  }
  return groups;
}

int largest_group(const MixingSchedule& schedule) {
  std::size_t largest = 0;
  for (std::int64_t e = 0; e < schedule.period(); ++e) {
    const WorkerGroups groups = groups_of(schedule.matrix(e, 0));
    if (groups.empty()) return 0;
    for (const auto& group : groups) largest = std::max(largest, group.size());
  }
  return static_cast<int>(largest);
}

}  // namespace acid

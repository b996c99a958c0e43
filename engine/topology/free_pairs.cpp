#include "engine/topology/free_pairs.hpp"

#include <algorithm>
#include <numeric>

#include "engine/base/error.hpp"

namespace acid {

FreePairs::FreePairs(const Topology& topology, const Seeds& seeds)
    : topology_(&topology),
      stream_(seeds.derived(Purpose::pairing)),
      free_(static_cast<std::size_t>(topology.workers()), 1),
      last_(free_.size(), -1),
      new_(free_.size()) {
  std::iota(new_.begin(), new_.end(), 0);
}

void FreePairs::add(int worker) {
  std::uint8_t& is_free = free_[static_cast<std::size_t>(worker)];
  if (is_free != 0) return;
  is_free = 1;
  new_.push_back(worker);
}

std::vector<std::pair<int, int>> FreePairs::draw() {
  std::vector<std::pair<int, int>> pairs;
  stream_.shuffle(new_);
  for (const std::int32_t i : new_) {
    if (free_[static_cast<std::size_t>(i)] == 0) continue;
    const int j = draw_partner(i);
    if (j < 0) continue;
    remove(i);
    remove(j);
    last_[static_cast<std::size_t>(i)] = j;
    last_[static_cast<std::size_t>(j)] = i;
    pairs.emplace_back(std::minmax(static_cast<int>(i), j));
  }
  new_.clear();
  return pairs;
}

void FreePairs::check() const {
  const auto workers = static_cast<std::size_t>(topology_->workers());
  const auto is_no_worker = [&](std::int32_t w) {
    return w < -1 || w >= static_cast<std::int32_t>(workers);
  };
  if (free_.size() != workers || last_.size() != workers ||
      std::any_of(last_.begin(), last_.end(), is_no_worker) ||
      std::any_of(new_.begin(), new_.end(),
                  [&](std::int32_t w) { return w < 0 || is_no_worker(w); }))
    throw Error("the saved state says of workers that there are not whether they are free");
}

bool FreePairs::may_meet(int i, int j) const {
  if (i == j || free_[static_cast<std::size_t>(j)] == 0) return false;
  const bool just_met =
      last_[static_cast<std::size_t>(i)] == j && last_[static_cast<std::size_t>(j)] == i;
  return !just_met || (topology_->neighbour_count(i) == 1 && topology_->neighbour_count(j) == 1);
}

int FreePairs::draw_partner(int i) {
  std::vector<Neighbour> candidates;
  double total = 0;
  const auto consider = [&](const Neighbour& neighbour) {
    if (!may_meet(i, neighbour.worker)) return;
    candidates.push_back(neighbour);
    total += neighbour.weight;
  };
  if (topology_->is_complete())
    for (int j = 0; j < topology_->workers(); ++j) consider({j, 1});
  else
    for (const Neighbour& neighbour : topology_->neighbours(i)) consider(neighbour);
  if (candidates.empty()) return -1;
  double left = stream_.uniform() * total;
  for (const Neighbour& candidate : candidates)
    if ((left -= candidate.weight) < 0) return candidate.worker;
  return candidates.back().worker;
}

}  // namespace acid

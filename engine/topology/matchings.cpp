#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/base/error.hpp"
#include "engine/base/rng.hpp"
#include "engine/topology/catalog.hpp"
#include "engine/topology/laplacian.hpp"
#include "engine/topology/mixing_schedule.hpp"

namespace acid {
namespace {

constexpr Field kMatchingsFields[] = {
    {"base", FieldType::text, "\"ring\"",
     "the graph that is cut into matchings: a kind without options"},
    {"budget", FieldType::number, "0.5", "share of the matchings that an exchange uses, expected",
     0, 1, true},
    {"alpha", FieldType::number, "null",
     "step of an exchange, W = I − αL; default 1 / (1 + the base graph's largest degree)", 0, 1,
     true},
};

using Pairs = std::vector<std::pair<int, int>>;

/// Puts the edges, in order, each into the first matching in which both its ends are free.
std::vector<Pairs> matchings_of(const Topology& base) {
  std::vector<Pairs> matchings;
  std::vector<std::vector<bool>> joined;
  base.for_each_edge([&](const Edge& edge) {
    std::size_t m = 0;
    while (m < matchings.size() && (joined[m][at(edge.i)] || joined[m][at(edge.j)])) ++m;
    if (m == matchings.size()) {
      matchings.emplace_back();
      joined.emplace_back(at(base.workers()));
    }
    matchings[m].emplace_back(edge.i, edge.j);
    joined[m][at(edge.i)] = joined[m][at(edge.j)] = true;
  });
  return matchings;
}

class Matchings final : public MixingSchedule {
 public:
  Matchings(const Topology& base, double budget, double alpha)
      : workers_(base.workers()), budget_(budget), alpha_(alpha), matchings_(matchings_of(base)) {}

  MixingMatrix matrix(std::int64_t exchange, std::uint64_t seed) const override {
    Stream stream(seed, static_cast<std::uint64_t>(exchange));
    MixingMatrix matrix{std::vector<double>(at(workers_), 1.0), {}};
    matrix.neighbours.resize(at(workers_));
    for (const Pairs& matching : matchings_) {
      if (stream.uniform() >= budget_) continue;
      for (const auto& [i, j] : matching)
        for (const auto& [worker, partner] : {std::pair(i, j), std::pair(j, i)}) {
          matrix.self[at(worker)] -= alpha_;
          matrix.neighbours[at(worker)].push_back({partner, alpha_});
        }
    }
    for (auto& row : matrix.neighbours) std::ranges::sort(row, {}, &Neighbour::worker);
    return matrix;
  }

 private:
  const int workers_;
  const double budget_, alpha_;
  const std::vector<Pairs> matchings_;
};

Topology make_matchings(int workers, const nlohmann::json& options) {
  Topology base = base_graph("matchings", workers, text(options, "base"));
  int degree = 0;
  for (int i = 0; i < workers; ++i) degree = std::max(degree, base.neighbour_count(i));
  const auto& given = options.at("alpha");
  const double alpha = given.is_null() ? 1.0 / (1 + degree) : number(options, "alpha");
  if (alpha * degree > 1)
    throw UsageError(fmt::format(
        "topology 'matchings': with alpha = {} a worker of {} neighbours would give its own model "
        "a negative weight; use alpha ≤ {:.4g}",
        alpha, degree, 1.0 / degree));
  auto schedule = std::make_shared<const Matchings>(base, number(options, "budget"), alpha);
  return std::move(base).on_schedule("matchings", std::move(schedule));
}

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

/// MATCHA (Wang et al. 2019, 1905.09435) in its plain form: the base graph is cut into matchings,
/// each is used with the same probability, independently, and W = I − αL of what is used. The paper
/// optimises the probabilities and α.
const TopologyEntry matchings_topology{
    "matchings",
    "the matchings that a base graph is cut into, each with one probability (plain MATCHA)",
    kMatchingsFields, &make_matchings};

/// One message per worker and exchange, fewer if some workers find no partner.
const TopologyEntry random_matching_topology{
    "random-matching", "random pairs of a base graph's neighbours, drawn anew for every exchange",
    kRandomMatchingFields, &make_random_matching};

}  // namespace acid

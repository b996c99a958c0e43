#include "worker/result.hpp"

#include <cmath>
#include <map>
#include <utility>

#include "engine/base/worker_words.hpp"
#include "engine/topology/spectral.hpp"

namespace acid {
namespace {

constexpr std::int64_t kMostEdges = 100'000;  // recorded with their rates, used or not
constexpr int kMostWorkersRealised = 4'096;   // at most this many for χ̂₁, χ̂₂

void add_edges(AttemptResult& result, const Outcome& outcome, const RunSpec& spec) {
  std::map<std::pair<int, int>, std::int64_t> counts;
  for (const EdgeUse& edge : outcome.edges) counts[{edge.i, edge.j}] = edge.count;
  const auto add = [&](int i, int j) {
    const auto used = counts.find({i, j});
    result.edges.push_back({i, j, spec.topology->edge_rate(i, j, spec.method.rate),
                            used == counts.end() ? 0 : used->second});
  };
  if (spec.workers > 1 && spec.topology->edge_count() <= kMostEdges)
    spec.topology->for_each_edge([&](const Edge& edge) { add(edge.i, edge.j); });
  else
    for (const EdgeUse& edge : outcome.edges) add(edge.i, edge.j);
}

void add_realised(AttemptResult& result, const Outcome& outcome, const RunSpec& spec) {
  // A run of exchanges alone has no gradients: it counts as many as its time stands for.
  const double gradients = outcome.position.gradients > 0
                               ? static_cast<double>(outcome.position.gradients)
                               : spec.workers * outcome.position.normalised_time;
  if (!spec.method.has_meetings() || gradients == 0) return;
  result.realised_rate = 2.0 * static_cast<double>(outcome.exchanges_done) / gradients;
  if (spec.workers < 2 || spec.workers > kMostWorkersRealised || outcome.edges.empty()) return;
  std::vector<Edge> rates;
  for (const EdgeUse& edge : outcome.edges)
    rates.push_back(
        {edge.i, edge.j, static_cast<double>(edge.count) / outcome.position.normalised_time});
  const Spectral spectral = spectral_of_rates(spec.workers, rates);
  if (!std::isfinite(spectral.chi1)) return;
  result.realised_chi1 = spectral.chi1;
  result.realised_chi2 = spectral.chi2;
}

}  // namespace

AttemptResult result_of(const Outcome& outcome, const RunSpec& spec) {
  AttemptResult result;
  result.state = outcome.ending == Ending::finished  ? RunState::finished
                 : outcome.ending == Ending::stopped ? RunState::interrupted
                                                     : RunState::diverged;
  result.message = outcome.ending == Ending::stopped ? kStoppedBySignal : outcome.message;
  result.position = outcome.position;
  result.worker_digests = outcome.worker_digests;
  result.mean_digest = outcome.mean_digest;
  result.worker_gradients = outcome.worker_gradients;
  result.worker_idle_seconds = outcome.worker_idle_seconds;
  result.staleness = outcome.staleness;
  result.worker_spans = outcome.worker_spans;
  result.exchanges_drawn = outcome.exchanges_drawn;
  result.exchanges_done = outcome.exchanges_done;
  result.exchanges_waiting = outcome.exchanges_waiting;
  result.samples_skipped = outcome.skipped.samples;
  result.evaluations_skipped = outcome.skipped.evaluations;
  if (outcome.ending == Ending::finished) {
    if (spec.reads_graph) add_edges(result, outcome, spec);
    add_realised(result, outcome, spec);
  }
  return result;
}

}  // namespace acid

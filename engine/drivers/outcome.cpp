#include "engine/drivers/outcome.hpp"

#include <algorithm>
#include <utility>

#include "engine/base/digest.hpp"

namespace acid {

std::vector<EdgeUse> EdgeCounter::list() const {
  std::vector<EdgeUse> edges;
  for (const auto& [edge, count] : counts_) edges.push_back({edge.first, edge.second, count});
  std::sort(edges.begin(), edges.end(), [](const EdgeUse& a, const EdgeUse& b) {
    return std::pair(a.i, a.j) < std::pair(b.i, b.j);
  });
  return edges;
}

Outcome ended_early(Ending ending, std::string message, const Position& position) {
  Outcome outcome;
  outcome.ending = ending;
  outcome.message = std::move(message);
  outcome.position = position;
  return outcome;
}

Outcome diverged(Sampler& sampler, const GradientNotes& notes, const Position& end) {
  if (sampler.diverged()) return ended_early(Ending::diverged, *sampler.diverged(), end);
  Position where;
  std::string what = sampler.take_diverged(notes, &where);
  return ended_early(Ending::diverged, std::move(what), where);
}

Outcome conclude(Ensemble& ensemble, Sampler& sampler, double t_end, const Totals& totals,
                 const GradientNotes& notes) {
  Outcome outcome;
  for (int i = 0; i < ensemble.size(); ++i) {
    Worker& worker = ensemble.worker(i);
    worker.finish(t_end);
    outcome.worker_digests.push_back(sha256_hex(worker.x()));
    outcome.worker_gradients.push_back(worker.gradients());
  }
  MeanModel mean = ensemble.mean_at(t_end);
  sampler.take_final(mean, ensemble, totals, notes);
  outcome.mean_digest = sha256_hex(std::span<const float>(mean.x));
  outcome.mean = std::move(mean.x);
  outcome.mean_buffers = std::move(mean.buffers);
  outcome.position = totals.position;
  outcome.exchanges_done = totals.exchanges;
  outcome.staleness = sampler.staleness();
  if (sampler.target_reached()) outcome.message = *sampler.target_reached();
  if (sampler.diverged()) {
    outcome.ending = Ending::diverged;
    outcome.message = *sampler.diverged();
  }
  return outcome;
}

}  // namespace acid

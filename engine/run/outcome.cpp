#include "engine/run/outcome.hpp"

#include <algorithm>
#include <utility>

#include "engine/base/digest.hpp"
#include "engine/worker/host_view.hpp"

namespace acid {

void EdgeCounter::count(int i, int j, std::int64_t by) {
  if (2 * taken_ >= slots_.size()) grow();
  std::size_t at = place(i, j);
  while (slots_[at].count > 0 && (slots_[at].i != i || slots_[at].j != j))
    at = (at + 1) & (slots_.size() - 1);
  EdgeUse& use = slots_[at];
  if (use.count == 0) {
    use.i = i;
    use.j = j;
    ++taken_;
  }
  use.count += by;
}

void EdgeCounter::grow() {
  bits_ = std::max(bits_ + 1, 6);
  const std::vector<EdgeUse> before = std::exchange(slots_, std::vector<EdgeUse>(1ull << bits_));
  taken_ = 0;
  for (const EdgeUse& use : before)
    if (use.count > 0) count(use.i, use.j, use.count);
}

std::vector<EdgeUse> EdgeCounter::list() const {
  std::vector<EdgeUse> edges;
  edges.reserve(taken_);
  for (const EdgeUse& use : slots_)
    if (use.count > 0) edges.push_back(use);
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

Outcome diverged(Sampler& sampler, const GradientRecords& notes, const Position& end) {
  if (sampler.diverged()) return ended_early(Ending::diverged, *sampler.diverged(), end);
  Position where;
  std::string what = sampler.take_diverged(notes, &where);
  // Where exchanges go on beside gradients, real clocks know some numbers of the whole run only.
  const Position& noted = first_diverged(notes)->position;
  if (noted.bytes == 0 || where.gradients == end.gradients)
    where.bytes = std::max(where.bytes, end.bytes);
  if (noted.seconds == 0) where.seconds = std::max(where.seconds, end.seconds);
  return ended_early(Ending::diverged, std::move(what), where);
}

Outcome conclude(Ensemble& ensemble, Sampler& sampler, double t_end, const Totals& totals,
                 const GradientRecords& notes, const std::vector<bool>& absent) {
  Outcome outcome;
  for (int i = 0; i < ensemble.size(); ++i) {
    Worker& worker = ensemble.worker(i);
    outcome.worker_gradients.push_back(worker.gradients());
    outcome.worker_digests.emplace_back();
    if (!absent.empty() && absent[static_cast<std::size_t>(i)]) continue;
    worker.finish(t_end);
    outcome.worker_digests.back() = sha256_hex(HostView(worker.backend(), worker.x()).values());
  }
  MeanModel mean = ensemble.mean_at(t_end, {}, {.absent = absent});
  sampler.take_final(mean, ensemble, totals, notes);
  outcome.mean_digest = sha256_hex(std::span<const float>(mean.x));
  outcome.mean = std::move(mean.x);
  if (mean.buffers.size() == 1) outcome.mean_buffers = std::move(mean.buffers[0]);
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

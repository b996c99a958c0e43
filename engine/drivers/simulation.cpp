#include "engine/drivers/simulation.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace acid {

double ComputeModel::mean_seconds(int worker) const {
  const double factor = slow_factors.empty() ? 1.0 : slow_factors[static_cast<std::size_t>(worker)];
  return gradient_seconds * factor * (1 + slowdown_probability * (slowdown_factor - 1));
}

double ComputeModel::draw_seconds(int worker, std::int64_t step, const Seeds& seeds) const {
  const double factor = slow_factors.empty() ? 1.0 : slow_factors[static_cast<std::size_t>(worker)];
  const double nominal = gradient_seconds * factor;
  if (kind == ComputeKind::constant && slowdown_probability == 0) return nominal;
  Stream stream(seeds.derived(Purpose::compute_model, static_cast<std::uint32_t>(worker)),
                static_cast<std::uint64_t>(step));
  const double slow =
      slowdown_probability > 0 && stream.uniform() < slowdown_probability ? slowdown_factor : 1.0;
  double unit = 1;
  switch (kind) {
    case ComputeKind::constant:
      break;
    case ComputeKind::exponential:
      unit = stream.exponential();
      break;
    case ComputeKind::shifted_exponential:
      unit = parameter + (1 - parameter) * stream.exponential();
      break;
    case ComputeKind::lognormal:
      unit = std::exp(parameter * stream.normal() - parameter * parameter / 2);
      break;
    case ComputeKind::pareto:
      unit = (parameter - 1) / parameter * std::pow(1 - stream.uniform(), -1 / parameter);
      break;
  }
  return nominal * slow * unit;
}

double ComputeModel::end_seconds(int worker, double start, double seconds) const {
  double end = start + seconds;
  for (const Pause& pause : pauses) {  // by start time
    if (pause.worker != worker || pause.at_seconds >= end) continue;
    const double resumes = pause.at_seconds + pause.for_seconds;
    if (resumes > start) end += resumes - std::max(start, pause.at_seconds);
  }
  return end;
}

const LinkCost& NetworkModel::between(int i, int j) const {
  const auto found = edges.find(std::minmax(i, j));
  return found == edges.end() ? link : found->second;
}

double NetworkModel::all_reduce_seconds(int workers, double bytes) const {
  if (workers < 2) return 0;
  LinkCost slowest = link;
  for (const auto& [pair, cost] : edges) {
    slowest.latency_seconds = std::max(slowest.latency_seconds, cost.latency_seconds);
    if (cost.bytes_per_second > 0)
      slowest.bytes_per_second = slowest.bytes_per_second > 0
                                     ? std::min(slowest.bytes_per_second, cost.bytes_per_second)
                                     : cost.bytes_per_second;
  }
  const double n = workers;
  const double transfer = slowest.bytes_per_second > 0 ? bytes / slowest.bytes_per_second : 0;
  if (all_reduce == AllReduceKind::ring)
    return 2 * (n - 1) * slowest.latency_seconds + 2 * (n - 1) / n * transfer;
  const int depth = std::bit_width(static_cast<unsigned>(workers - 1));  // ⌈log₂ n⌉
  return 2 * depth * slowest.latency_seconds + 2 * transfer;
}

double RoundClock::all_reduce(const std::vector<double>& durations, double bucket_seconds) {
  const std::size_t n = ready_.size();
  const double backward_share = 1 - cost_.forward_share - cost_.optimizer_share;
  const double start = ready_[0];  // all-reduce ends every round at one time for all
  double end = 0;
  for (int b = 1; b <= cost_.buckets; ++b) {
    double ready = 0;
    for (std::size_t i = 0; i < n; ++i)
      ready = std::max(
          ready, start + durations[i] * (cost_.forward_share + backward_share * b / cost_.buckets));
    end = std::max(ready, end) + bucket_seconds;
  }
  double longest = 0;
  for (const double duration : durations) longest = std::max(longest, duration);
  const double finish = end + longest * cost_.optimizer_share;
  for (std::size_t i = 0; i < n; ++i) {
    idle_[i] += finish - start - durations[i];
    ready_[i] = finish;
  }
  return finish;
}

double RoundClock::overlapped(const std::vector<double>& durations,
                              const std::vector<double>& bucket_seconds,
                              const std::vector<std::vector<int>>& neighbours) {
  const std::size_t n = ready_.size();
  const auto buckets = static_cast<std::size_t>(cost_.buckets);
  if (done_.empty()) {
    done_.assign(n, std::vector<double>(buckets, 0.0));
    link_free_.assign(n, 0.0);
  }
  const double backward_share = 1 - cost_.forward_share - cost_.optimizer_share;
  std::vector<std::vector<double>> done = done_;
  for (std::size_t i = 0; i < n; ++i) {
    const double piece = durations[i] * backward_share / static_cast<double>(buckets);
    const double update = durations[i] * cost_.optimizer_share / static_cast<double>(buckets);
    double now = ready_[i] + durations[i] * cost_.forward_share;
    for (std::size_t b = 0; b < buckets; ++b) {
      double start = std::max(done_[i][b], link_free_[i]);
      for (const int j : neighbours[i])
        start = std::max(start, done_[static_cast<std::size_t>(j)][b]);
      link_free_[i] = start + bucket_seconds[i];
      now = std::max(now + piece, link_free_[i]) + update;
      done[i][b] = now;
    }
    idle_[i] += now - ready_[i] - durations[i];
  }
  done_ = std::move(done);
  for (std::size_t i = 0; i < n; ++i) ready_[i] = done_[i].back();
  return *std::max_element(ready_.begin(), ready_.end());
}

double RoundClock::sequential(const std::vector<double>& durations,
                              const std::vector<double>& exchange_seconds,
                              const std::vector<std::vector<int>>& neighbours) {
  const std::size_t n = ready_.size();
  std::vector<double> computed(n);
  for (std::size_t i = 0; i < n; ++i) computed[i] = ready_[i] + durations[i];
  for (std::size_t i = 0; i < n; ++i) {
    double start = computed[i];
    for (const int j : neighbours[i])
      start = std::max(start, computed[static_cast<std::size_t>(j)]);
    const double finish = start + exchange_seconds[i];
    idle_[i] += finish - computed[i];
    ready_[i] = finish;
  }
  return *std::max_element(ready_.begin(), ready_.end());
}

}  // namespace acid

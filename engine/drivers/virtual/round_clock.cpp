#include "engine/drivers/virtual/round_clock.hpp"

#include <algorithm>

namespace acid {

std::vector<double> CostModel::bucket_shares(double vector_bytes) const {
  if (buckets > 0) return std::vector<double>(static_cast<std::size_t>(buckets), 1.0 / buckets);
  std::vector<double> shares;
  double left = vector_bytes, limit = first_bucket_bytes;
  for (; left > limit; limit = bucket_bytes) {
    shares.push_back(limit / vector_bytes);
    left -= limit;
  }
  shares.push_back(left / vector_bytes);
  return shares;
}

RoundClock::RoundClock(int workers, double forward_share, std::vector<double> shares)
    : forward_share_(forward_share),
      shares_(std::move(shares)),
      rest_(shares_.size(), 0.0),
      ready_(static_cast<std::size_t>(workers), 0.0),
      idle_(ready_.size(), 0.0) {
  for (std::size_t b = shares_.size() - 1; b > 0; --b) rest_[b - 1] = rest_[b] + shares_[b];
}

// Counted from the end of the gradient, so that the last bucket is ready right there.
double RoundClock::all_reduce(const std::vector<RoundWork>& work,
                              const std::vector<double>& bucket_seconds) {
  double end = 0;
  for (std::size_t b = 0; b < shares_.size(); ++b) {
    const double before_end = (1 - forward_share_) * rest_[b];
    for (std::size_t i = 0; i < work.size(); ++i)
      end = std::max(end, ready_[i] + work[i].gradient_seconds * (1 - before_end));
    end += bucket_seconds[b];
  }
  std::vector<double> finish;
  for (const RoundWork& own : work) finish.push_back(end + own.optimizer_seconds);
  return end_round(work, finish);
}

double RoundClock::overlapped(const std::vector<RoundWork>& work,
                              const std::vector<NeighbourCost>& costs,
                              const std::vector<std::vector<int>>& neighbours) {
  if (done_.empty()) {
    done_.assign(work.size(), std::vector<double>(shares_.size(), 0.0));
    link_free_.assign(work.size(), 0.0);
  }
  std::vector<std::vector<double>> done = done_;
  std::vector<double> finish;
  for (std::size_t i = 0; i < work.size(); ++i) {
    const double backward = work[i].gradient_seconds * (1 - forward_share_);
    double now = ready_[i] + work[i].gradient_seconds * forward_share_;
    for (std::size_t b = 0; b < shares_.size(); ++b) {
      double start = std::max(done_[i][b], link_free_[i]);
      for (const int j : neighbours[i])
        start = std::max(start, done_[static_cast<std::size_t>(j)][b]);
      link_free_[i] = start + costs[i].seconds(shares_[b]);
      now = std::max(now + backward * shares_[b], link_free_[i]) +
            work[i].optimizer_seconds * shares_[b];
      done[i][b] = now;
    }
    finish.push_back(now);
  }
  done_ = std::move(done);
  return end_round(work, finish);
}

double RoundClock::sequential(const std::vector<RoundWork>& work,
                              const std::vector<NeighbourCost>& costs,
                              const std::vector<std::vector<int>>& neighbours) {
  std::vector<double> stepped;
  for (std::size_t i = 0; i < work.size(); ++i)
    stepped.push_back(ready_[i] + work[i].gradient_seconds + work[i].optimizer_seconds);
  std::vector<double> finish = stepped;
  for (std::size_t i = 0; i < work.size(); ++i) {
    for (const int j : neighbours[i])
      finish[i] = std::max(finish[i], stepped[static_cast<std::size_t>(j)]);
    finish[i] += costs[i].seconds(1);
  }
  return end_round(work, finish);
}

double RoundClock::end_round(const std::vector<RoundWork>& work,
                             const std::vector<double>& finish) {
  for (std::size_t i = 0; i < work.size(); ++i)
    idle_[i] += finish[i] - ready_[i] - work[i].gradient_seconds - work[i].optimizer_seconds;
  ready_ = finish;
  return *std::max_element(ready_.begin(), ready_.end());
}

}  // namespace acid

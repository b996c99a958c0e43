#include "tests/cluster/delay_line.hpp"

#include <algorithm>
#include <utility>

namespace acid::test {

bool DelayLine::send(double now, Frame frame, std::uint64_t flow) {
  serve(now);
  const auto bytes = static_cast<double>(frame.size());
  const double under_way =  // an unlimited line has no waiting; 0 × infinity is NaN
      free_at_ > now ? (free_at_ - now) * model_.bandwidth_bytes_per_second : 0;
  if (under_way + waiting_bytes_ + bytes > model_.queue_bytes || chance_.uniform() < model_.loss)
    return false;
  std::deque<Waiting>& own = waiting_[flow];
  if (own.empty()) fresh_.push_back(flow);
  own.push_back({now, std::move(frame)});
  waiting_bytes_ += bytes;
  serve(now);
  return true;
}

std::uint64_t DelayLine::next_flow() {
  std::deque<std::uint64_t>& flows = fresh_.empty() ? others_ : fresh_;
  const std::uint64_t flow = flows.front();
  flows.pop_front();
  return flow;
}

void DelayLine::serve(double now) {
  while (!waiting_.empty() && free_at_ <= now) {
    const std::uint64_t flow = next_flow();
    const auto found = waiting_.find(flow);
    Waiting next = std::move(found->second.front());
    found->second.pop_front();
    if (found->second.empty())
      waiting_.erase(found);
    else
      others_.push_back(flow);
    const auto bytes = static_cast<double>(next.frame.size());
    waiting_bytes_ -= bytes;
    free_at_ = std::max(free_at_, next.sent) + bytes / model_.bandwidth_bytes_per_second;
    travelling_.push_back({free_at_ + model_.latency_seconds, std::move(next.frame)});
  }
}

std::optional<double> DelayLine::next_arrival() const {
  if (travelling_.empty()) return std::nullopt;
  return travelling_.front().arrival;
}

std::optional<Frame> DelayLine::receive(double now) {
  serve(now);
  if (travelling_.empty() || travelling_.front().arrival > now) return std::nullopt;
  Frame frame = std::move(travelling_.front().frame);
  travelling_.pop_front();
  return frame;
}

}  // namespace acid::test

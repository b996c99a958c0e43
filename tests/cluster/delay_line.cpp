#include "tests/cluster/delay_line.hpp"

#include <algorithm>
#include <utility>

namespace acid::test {

bool DelayLine::send(double now, Frame frame) {
  const auto bytes = static_cast<double>(frame.size());
  const double start = std::max(now, free_at_);
  const double waiting =  // an unlimited line has no waiting; 0 × infinity is NaN
      start > now ? (start - now) * model_.bandwidth_bytes_per_second : 0;
  if (waiting + bytes > model_.queue_bytes || chance_.uniform() < model_.loss) return false;
  free_at_ = start + bytes / model_.bandwidth_bytes_per_second;
  travelling_.push_back({free_at_ + model_.latency_seconds, std::move(frame)});
  return true;
}

std::optional<double> DelayLine::next_arrival() const {
  if (travelling_.empty()) return std::nullopt;
  return travelling_.front().arrival;
}

std::optional<Frame> DelayLine::receive(double now) {
  if (travelling_.empty() || travelling_.front().arrival > now) return std::nullopt;
  Frame frame = std::move(travelling_.front().frame);
  travelling_.pop_front();
  return frame;
}

}  // namespace acid::test

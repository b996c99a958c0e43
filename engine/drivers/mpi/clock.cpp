#include "engine/drivers/mpi/clock.hpp"

namespace acid {

Permits::Permits(std::int64_t budget, const std::vector<std::int64_t>& committed, double seconds)
    : left_(budget) {
  for (const std::int64_t count : committed) {
    workers_.push_back({count, count, seconds, 0});
    left_ -= count;
  }
}

std::int64_t Permits::grant(int worker, std::int64_t committed, double seconds) {
  constexpr double kSecondsAhead = 0.5;
  constexpr double kWeight = 0.3;  // of the newest pace in the average
  Own& own = workers_[static_cast<std::size_t>(worker)];
  if (committed > own.committed && seconds > own.seconds) {
    const double pace = static_cast<double>(committed - own.committed) / (seconds - own.seconds);
    own.pace += (own.pace == 0 ? 1 : kWeight) * (pace - own.pace);
    own.committed = committed;
    own.seconds = seconds;
  }
  const auto share = left_ / (2 * static_cast<std::int64_t>(workers_.size()));
  const auto ahead = static_cast<std::int64_t>(own.pace * kSecondsAhead);
  const std::int64_t wanted =
      committed + std::clamp<std::int64_t>(ahead, 1, std::max<std::int64_t>(share, 1));
  const std::int64_t more = std::clamp<std::int64_t>(wanted - own.granted, 0, left_);
  own.granted += more;
  left_ -= more;
  return own.granted;
}

void Permits::take_back(int worker, std::int64_t committed) {
  Own& own = workers_[static_cast<std::size_t>(worker)];
  left_ += own.granted - committed;
  own.granted = committed;
}

}  // namespace acid

#include "engine/drivers/virtual/gradient_rings.hpp"

#include "engine/base/error.hpp"

namespace acid {

GradientRings::GradientRings(int workers, double mean_seconds, const Seeds& seeds)
    : workers_(workers),
      mean_gap_(mean_seconds / workers),
      key_(seeds.derived(Purpose::compute_model)) {
  restore({}, 0);
}

// Draws the next portion into drawn_[begin …].
void GradientRings::draw(std::size_t begin) {
  starts_[begin / kPortion] = next_portion_;
  Stream stream(key_, next_portion_.portion);
  std::array<double, kPortion> gaps, unused;
  std::array<std::uint64_t, kPortion> workers;
  stream.exponentials(gaps);
  stream.below_and_uniform(static_cast<std::uint64_t>(workers_), workers, unused);
  double& seconds = next_portion_.seconds;
  for (std::size_t k = 0; k < kPortion; ++k) {
    seconds += mean_gap_ * gaps[k];
    drawn_[begin + k] = {seconds, static_cast<int>(workers[k])};
  }
  ++next_portion_.portion;
}

void GradientRings::restore(const Start& start, std::uint64_t within) {
  if (within >= kPortion)
    throw Error(fmt::format("the saved state stands at ring {} of {}", within, kPortion));
  next_portion_ = start;
  next_ = static_cast<std::size_t>(within);
  for (std::size_t begin = 0; begin < kDrawn; begin += kPortion) draw(begin);
}

}  // namespace acid

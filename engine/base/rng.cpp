#include "engine/base/rng.hpp"

#include <Random123/philox.h>

#include <cmath>
#include <numbers>

#include "engine/base/error.hpp"

namespace acid {
namespace {

using Philox = r123::Philox4x32;
__extension__ using Wide = unsigned __int128;

Philox::ctr_type philox(std::uint64_t key, std::uint64_t index, std::uint64_t block) {
  const auto low = [](std::uint64_t v) { return static_cast<std::uint32_t>(v); };
  const auto high = [](std::uint64_t v) { return static_cast<std::uint32_t>(v >> 32); };
  return Philox()({{low(block), high(block), low(index), high(index)}}, {{low(key), high(key)}});
}

}  // namespace

std::string_view purpose_name(Purpose purpose) {
  switch (purpose) {
    case Purpose::init:
      return "init";
    case Purpose::data_order:
      return "data_order";
    case Purpose::augmentation:
      return "augmentation";
    case Purpose::gossip_clock:
      return "gossip_clock";
    case Purpose::pairing:
      return "pairing";
    case Purpose::compute_model:
      return "compute_model";
    case Purpose::dropout:
      return "dropout";
    case Purpose::dither:
      return "dither";
    case Purpose::gradient_noise:
      return "gradient_noise";
    case Purpose::partition:
      return "partition";
    case Purpose::data_set:
      return "data_set";
    case Purpose::initial_spread:
      return "initial_spread";
    case Purpose::topology:
      return "topology";
  }
  ACID_ASSERT(false, "purpose {}", static_cast<int>(purpose));
}

std::uint64_t derive_seed(std::uint64_t seed, std::uint32_t worker, Purpose purpose) {
  const auto words =
      philox(seed, (static_cast<std::uint64_t>(purpose) << 32) | worker, 0x61636964u /* "acid" */);
  return (static_cast<std::uint64_t>(words[1]) << 32) | words[0];
}

std::uint64_t Seeds::derived(Purpose purpose, std::uint32_t worker) const {
  switch (purpose) {
    case Purpose::init:
    case Purpose::initial_spread:
      return derive_seed(init, worker, purpose);
    case Purpose::gossip_clock:
    case Purpose::pairing:
    case Purpose::dither:
      return derive_seed(gossip, worker, purpose);
    case Purpose::compute_model:
      return derive_seed(compute, worker, purpose);
    default:
      return derive_seed(data, worker, purpose);
  }
}

void Stream::refill() {
  const auto words = philox(key_, index_, block_++);
  for (int i = 0; i < 4; ++i) words_[i] = words[static_cast<std::size_t>(i)];
  left_ = 4;
}

std::uint32_t Stream::next32() {
  if (left_ == 0) refill();
  return words_[4 - left_--];
}

std::uint64_t Stream::next64() {
  const std::uint64_t low = next32();
  return (static_cast<std::uint64_t>(next32()) << 32) | low;
}

double Stream::uniform() { return static_cast<double>(next64() >> 11) * 0x1p-53; }

double Stream::uniform(double low, double high) { return low + (high - low) * uniform(); }

std::uint64_t Stream::below(std::uint64_t bound) {
  ACID_ASSERT(bound > 0, "below({})", bound);
  // Lemire 2019: multiply and reject the few products that would be biased.
  while (true) {
    const Wide product = static_cast<Wide>(next64()) * bound;
    if (static_cast<std::uint64_t>(product) >= -bound % bound)
      return static_cast<std::uint64_t>(product >> 64);
  }
}

double Stream::exponential() { return -std::log1p(-uniform()); }

double Stream::normal() {
  if (has_spare_normal_) {
    has_spare_normal_ = false;
    return spare_normal_;
  }
  const double radius = std::sqrt(2 * exponential());
  const double angle = 2 * std::numbers::pi * uniform();
  spare_normal_ = radius * std::sin(angle);
  has_spare_normal_ = true;
  return radius * std::cos(angle);
}

double Stream::gamma(double shape) {
  ACID_ASSERT(shape > 0, "gamma({})", shape);
  if (shape < 1) {  // Boost: Gamma(a) = Gamma(a + 1) · U^(1/a).
    const double boosted = gamma(shape + 1);
    return boosted * std::pow(1 - uniform(), 1 / shape);
  }
  const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  while (true) {
    const double z = normal(), v = std::pow(1 + c * z, 3);
    if (v <= 0) continue;
    if (std::log(1 - uniform()) < z * z / 2 + d * (1 - v + std::log(v))) return d * v;
  }
}

Permutation::Permutation(std::uint64_t key, std::uint64_t size)
    : key_(key), size_(size), half_bits_(1) {
  ACID_ASSERT(size > 0 && size < (1ull << 62), "permutation of {}", size);
  while ((1ull << (2 * half_bits_)) < size) ++half_bits_;
}

std::uint64_t Permutation::at(std::uint64_t i) const {
  ACID_ASSERT(i < size_, "permutation index {} of {}", i, size_);
  const std::uint64_t mask = (1ull << half_bits_) - 1;
  do {  // The domain is at most 4 × size, so this walks a few steps on average.
    std::uint64_t left = i >> half_bits_, right = i & mask;
    for (std::uint64_t round = 0; round < 6; ++round) {
      const std::uint64_t mixed = left ^ (philox(key_, round, right)[0] & mask);
      left = right;
      right = mixed;
    }
    i = (left << half_bits_) | right;
  } while (i >= size_);
  return i;
}

}  // namespace acid

#include "engine/base/rng.hpp"

#include <Random123/philox.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "engine/base/error.hpp"

namespace acid {
namespace {

using Philox = r123::Philox4x32;
__extension__ using Wide = unsigned __int128;

// Inline, so that a loop over independent calls runs several at once: a single call mostly waits
// for its own multiplications.
inline Philox::ctr_type philox(std::uint64_t key, std::uint64_t index, std::uint64_t block) {
  const auto low = [](std::uint64_t v) { return static_cast<std::uint32_t>(v); };
  const auto high = [](std::uint64_t v) { return static_cast<std::uint32_t>(v >> 32); };
  return Philox()({{low(block), high(block), low(index), high(index)}}, {{low(key), high(key)}});
}

double unit(std::uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

}  // namespace

std::string_view purpose_name(Purpose purpose) {
  static constexpr auto kNames = std::to_array<std::string_view>(
      {"init", "data_order", "augmentation", "gossip_clock", "pairing", "compute_model", "dropout",
       "dither", "gradient_noise", "partition", "data_set", "initial_spread", "topology",
       "training_sample", "validation", "label_noise", "feature_shift"});
  static_assert(kNames.size() == static_cast<std::size_t>(Purpose::feature_shift));
  const std::size_t index = static_cast<std::size_t>(purpose) - 1;
  ACID_ASSERT(index < kNames.size(), "purpose {}", static_cast<int>(purpose));
  return kNames[index];
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

double Stream::uniform() { return unit(next64()); }

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

void Stream::normals(std::span<double> out) {
  constexpr std::size_t kBlocks = 16;
  std::size_t done = 0;
  const auto rest = [&] { return out.size() - done; };
  // A block gives two values. The rest of a block is used up first.
  while (rest() > 0 && (has_spare_normal_ || left_ > 0)) out[done++] = normal();
  while (rest() >= 2) {
    const std::size_t blocks = std::min(kBlocks, rest() / 2);
    std::array<std::uint64_t, 2 * kBlocks> bits;
    next64(std::span(bits).first(2 * blocks));
    for (std::size_t b = 0; b < blocks; ++b) {
      const double radius = std::sqrt(2 * -std::log1p(-unit(bits[2 * b])));
      const double angle = 2 * std::numbers::pi * unit(bits[2 * b + 1]);
      out[done++] = radius * std::cos(angle);
      out[done++] = spare_normal_ = radius * std::sin(angle);
    }
  }
  if (rest() > 0) out[done] = normal();
}

// Gives the same as that many single calls.
void Stream::next64(std::span<std::uint64_t> out) {
  constexpr std::size_t kBlocks = 16;
  std::size_t done = 0;
  while (done < out.size() && left_ > 0) out[done++] = next64();
  while (out.size() - done >= 2) {  // a block holds two
    const std::size_t blocks = std::min(kBlocks, (out.size() - done) / 2);
    std::array<Philox::ctr_type, kBlocks> words;
    for (std::size_t b = 0; b < blocks; ++b) words[b] = philox(key_, index_, block_ + b);
    for (std::size_t b = 0; b < blocks; ++b)
      for (const std::size_t low : {0u, 2u})
        out[done++] = (static_cast<std::uint64_t>(words[b][low + 1]) << 32) | words[b][low];
    block_ += blocks;
    for (int i = 0; i < 4; ++i) words_[i] = words[blocks - 1][static_cast<std::size_t>(i)];
  }
  if (done < out.size()) out[done] = next64();
}

void Stream::exponentials(std::span<double> out) {
  std::array<std::uint64_t, 64> bits;
  while (!out.empty()) {
    const std::size_t count = std::min(bits.size(), out.size());
    next64(std::span(bits).first(count));
    for (std::size_t k = 0; k < count; ++k) out[k] = -std::log1p(-unit(bits[k]));
    out = out.subspan(count);
  }
}

void Stream::below_and_uniform(std::uint64_t bound, std::span<std::uint64_t> below,
                               std::span<double> uniform) {
  ACID_ASSERT(bound > 0 && below.size() == uniform.size(), "{} below {}, {} uniform", below.size(),
              bound, uniform.size());
  const std::uint64_t rejected = -bound % bound;
  std::array<std::uint64_t, 64> bits;
  for (std::size_t done = 0; done < below.size();) {
    const std::size_t count = std::min(bits.size() / 2, below.size() - done);
    const Stream before = *this;
    next64(std::span(bits).first(2 * count));
    bool all = true;
    for (std::size_t k = 0; k < count; ++k) {
      const Wide product = static_cast<Wide>(bits[2 * k]) * bound;
      all = all && static_cast<std::uint64_t>(product) >= rejected;
      below[done + k] = static_cast<std::uint64_t>(product >> 64);
      uniform[done + k] = unit(bits[2 * k + 1]);
    }
    if (!all) {  // very rare: then what follows is drawn from later words
      *this = before;
      for (std::size_t k = 0; k < count; ++k) {
        below[done + k] = this->below(bound);
        uniform[done + k] = this->uniform();
      }
    }
    done += count;
  }
}

double Stream::gamma(double shape) {
  ACID_ASSERT(shape > 0, "gamma({})", shape);
  if (shape < 1) return gamma_and_log(shape).first;
  const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  while (true) {
    const double z = normal(), v = std::pow(1 + c * z, 3);
    if (v <= 0) continue;
    if (std::log(1 - uniform()) < z * z / 2 + d * (1 - v + std::log(v))) return d * v;
  }
}

std::pair<double, double> Stream::gamma_and_log(double shape) {
  if (shape >= 1) {
    const double value = gamma(shape);
    return {value, std::log(value)};
  }
  // Boost: Gamma(a) = Gamma(a + 1) · U^(1/a).
  const double boosted = gamma(shape + 1), u = 1 - uniform();
  return {boosted * std::pow(u, 1 / shape), std::log(boosted) + std::log(u) / shape};
}

Permutation::Permutation(std::uint64_t key, std::uint64_t size)
    : key_(key), size_(size), half_bits_(1) {
  ACID_ASSERT(size > 0 && size < (1ull << 62), "permutation of {}", size);
  while ((1ull << (2 * half_bits_)) < size) ++half_bits_;
}

void Permutation::walk(std::span<std::uint64_t> walkers) const {
  const std::uint64_t mask = (1ull << half_bits_) - 1;
  for (std::uint64_t round = 0; round < 6; ++round)
    for (std::uint64_t& walker : walkers) {
      const std::uint64_t left = walker >> half_bits_, right = walker & mask;
      walker = (right << half_bits_) | (left ^ (philox(key_, round, right)[0] & mask));
    }
}

std::uint64_t Permutation::at(std::uint64_t i) const {
  ACID_ASSERT(i < size_, "permutation index {} of {}", i, size_);
  do walk(std::span(&i, 1));
  while (i >= size_);
  return i;
}

void Permutation::range(std::uint64_t first, std::span<std::uint64_t> out) const {
  ACID_ASSERT(first <= size_ && out.size() <= size_ - first, "{} + {} of a permutation of {}",
              first, out.size(), size_);
  constexpr std::size_t kTogether = 8;
  std::array<std::uint64_t, kTogether> walkers;
  std::array<std::size_t, kTogether> places;  // the place in `out` of each value
  std::size_t started = 0, walking = 0;
  const auto start = [&](std::size_t w) {
    walkers[w] = first + started;
    places[w] = started++;
  };
  while (walking < kTogether && started < out.size()) start(walking++);
  while (walking > 0) {
    walk(std::span(walkers).first(walking));
    for (std::size_t w = walking; w-- > 0;) {
      if (walkers[w] >= size_) continue;
      out[places[w]] = walkers[w];
      if (started < out.size()) {
        start(w);
      } else {  // the last one takes its place
        --walking;
        walkers[w] = walkers[walking];
        places[w] = places[walking];
      }
    }
  }
}

}  // namespace acid

#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace acid {

/// What a random stream is for. The number is part of the key: never renumber.
enum class Purpose : std::uint32_t {
  init = 1,
  data_order = 2,
  augmentation = 3,
  gossip_clock = 4,
  pairing = 5,
  compute_model = 6,
  dropout = 7,
  dither = 8,
  gradient_noise = 9,
  partition = 10,
  data_set = 11,
  initial_spread = 12,
  topology = 13,
  training_sample = 14,
  validation = 15,
  label_noise = 16,
  feature_shift = 17,
};
std::string_view purpose_name(Purpose purpose);

/// The 64-bit key of one stream, a Philox hash of (seed, worker, purpose). The store records this
/// value as "derived seed". Worker 0 also stands for the whole run.
std::uint64_t derive_seed(std::uint64_t seed, std::uint32_t worker, Purpose purpose);

/// The four base seeds of a run (a recipe's [streams]); each is the run's seed unless the recipe
/// fixes it.
struct Seeds {
  std::uint64_t init = 0, data = 0, gossip = 0, compute = 0;
  explicit Seeds(std::uint64_t seed = 0) : init(seed), data(seed), gossip(seed), compute(seed) {}
  /// The derived seed of a purpose, from the base seed (`init`, `data`, `gossip` or `compute`) to
  /// which the purpose belongs.
  std::uint64_t derived(Purpose purpose, std::uint32_t worker = 0) const;
};

/// Counter-based random numbers: Philox 4×32-10 (Salmon et al. 2011) keyed by a derived seed. The
/// n-th block is a pure function of (key, index, n), so a stream can be opened anywhere without
/// drawing what comes before. Distributions are our own; they need only IEEE arithmetic and libm.
/// Not thread-safe; streams are values, one per user.
class Stream {
 public:
  /// `index` selects one of 2^64 independent sub-streams, such as a step or an edge number.
  explicit Stream(std::uint64_t key, std::uint64_t index = 0) : key_(key), index_(index) {}

  std::uint32_t next32();
  std::uint64_t next64();
  double uniform();                          // [0, 1), 53 bits
  double uniform(double low, double high);   // [low, high)
  std::uint64_t below(std::uint64_t bound);  // unbiased on {0 … bound − 1}; bound > 0
  double exponential();                      // mean 1
  double normal();                           // mean 0, variance 1 (Box–Muller, both values used)
  double gamma(double shape);                // scale 1 (Marsaglia & Tsang 2000); shape > 0
  /// The same, and its logarithm, which is finite where a double cannot hold the value.
  std::pair<double, double> gamma_and_log(double shape);

  /// Fills `out` with the values of that many calls of normal(), in half the time.
  void normals(std::span<double> out);
  /// As normals(), for exponential().
  void exponentials(std::span<double> out);
  /// As calls of below(bound), uniform(), below(bound), …: fills both spans, which are equally
  /// long.
  void below_and_uniform(std::uint64_t bound, std::span<std::uint64_t> below,
                         std::span<double> uniform);

  /// Puts a list into random order (Fisher and Yates).
  template <class T>
  void shuffle(std::vector<T>& list) {
    for (std::size_t left = list.size(); left > 1; --left)
      std::swap(list[left - 1], list[below(left)]);
  }

  /// Keeps the position of the stream (engine/base/archive.hpp); key and index are not part of it.
  template <class Archive>
  void persist(Archive& archive) {
    archive(block_, words_[0], words_[1], words_[2], words_[3], left_, spare_normal_,
            has_spare_normal_);
  }

 private:
  void refill();
  void next64(std::span<std::uint64_t> out);

  std::uint64_t key_, index_;
  std::uint64_t block_ = 0;
  std::uint32_t words_[4] = {};
  int left_ = 0;
  double spare_normal_ = 0;
  bool has_spare_normal_ = false;
};

/// A pseudorandom permutation of {0 … size − 1} with O(1) memory: a balanced Feistel network keyed
/// by `key` with Philox rounds, cycle-walked into range. at(i) is a pure function.
class Permutation {
 public:
  Permutation(std::uint64_t key, std::uint64_t size);
  std::uint64_t at(std::uint64_t i) const;  // i < size
  /// out[k] = at(first + k) for all k, in a third of the time; first + out.size() ≤ size.
  void range(std::uint64_t first, std::span<std::uint64_t> out) const;

 private:
  // Moves each of `walkers` once through the network, whose domain is at most 4 × size.
  void walk(std::span<std::uint64_t> walkers) const;

  std::uint64_t key_, size_;
  unsigned half_bits_;
};

}  // namespace acid

#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/base/fetch.hpp"
#include "engine/run/ensemble.hpp"
#include "engine/run/sampler.hpp"

namespace acid {

/// Counts exchanges per edge, in a hash table: 32 to 64 bytes per used edge, mostly one access per
/// exchange. Not thread-safe.
class EdgeCounter {
 public:
  void add(int i, int j) { count(i, j, 1); }
  /// Fetches into the cache what add(i, j) will touch.
  void fetch(int i, int j) const {
    if (!slots_.empty()) acid::fetch(&slots_[place(i, j)]);
  }
  std::vector<EdgeUse> list() const;

  template <class Archive>
  void persist(Archive& archive) {
    std::vector<EdgeUse> uses;
    if constexpr (!Archive::kReads) uses = list();
    archive(uses);
    if constexpr (Archive::kReads)
      for (const EdgeUse& use : uses) count(use.i, use.j, use.count);
  }

 private:
  /// The slot at which the linear search for an edge begins. At most half of 2^bits_ are taken.
  std::size_t place(int i, int j) const {
    const auto edge = static_cast<std::uint64_t>(i) << 32 | static_cast<std::uint32_t>(j);
    return static_cast<std::size_t>(edge * 0x9E3779B97F4A7C15ull >> (64 - bits_));
  }
  void count(int i, int j, std::int64_t by);
  void grow();

  std::vector<EdgeUse> slots_;  // count 0: free
  std::size_t taken_ = 0;
  int bits_ = 0;
};

/// The outcome of a run that was stopped or diverged: there is no result.
Outcome ended_early(Ending ending, std::string message, const Position& position);

/// The outcome of a run that diverged: at `end` if a sample noticed it, otherwise at the first of
/// the notes whose loss is not finite, with the bytes and seconds of `end` if it does not know its
/// own.
Outcome diverged(Sampler& sampler, const GradientRecords& notes, const Position& end);

/// Ends every other run, under each driver (docs/SEMANTICS.md, The end): mixes all workers to
/// t_end, evaluates the exact mean, and digests the results. `absent`: by worker, whether it is
/// left out and gets an empty digest; empty: no worker is.
Outcome conclude(Ensemble& ensemble, Sampler& sampler, double t_end, const Totals& totals,
                 const GradientRecords& notes, const std::vector<bool>& absent = {});

}  // namespace acid

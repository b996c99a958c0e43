#pragma once

#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/drivers/ensemble.hpp"
#include "engine/drivers/sampler.hpp"

namespace acid {

/// Counts exchanges per edge. Not thread-safe.
class EdgeCounter {
 public:
  void add(int i, int j) { ++counts_[{i, j}]; }
  std::vector<EdgeUse> list() const;

  template <class Archive>
  void persist(Archive& archive) {
    std::vector<EdgeUse> uses;
    if constexpr (!Archive::kReads) uses = list();
    archive(uses);
    if constexpr (Archive::kReads)
      for (const EdgeUse& use : uses) counts_[{use.i, use.j}] = use.count;
  }

 private:
  struct Hash {
    std::size_t operator()(const std::pair<int, int>& edge) const {
      return static_cast<std::size_t>(edge.first) * 0x9E3779B97F4A7C15ull +
             static_cast<std::size_t>(edge.second);
    }
  };
  std::unordered_map<std::pair<int, int>, std::int64_t, Hash> counts_;
};

/// The outcome of a run that was stopped or diverged: there is no result.
Outcome ended_early(Ending ending, std::string message, const Position& position);

/// The outcome of a run that diverged: as a sample saw it, at `end`, or else as the first of the
/// notes whose loss is not finite tells it.
Outcome diverged(Sampler& sampler, const GradientNotes& notes, const Position& end);

/// The end of every other run, whatever the driver (DESIGN §5): all workers are mixed to t_end, the
/// exact mean is taken and evaluated, and what the run leaves behind is digested.
Outcome conclude(Ensemble& ensemble, Sampler& sampler, double t_end, const Totals& totals,
                 const GradientNotes& notes);

}  // namespace acid

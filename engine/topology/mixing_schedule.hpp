#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "engine/topology/topology.hpp"

namespace acid {

/// What sums to 1 in all matrices of a schedule, and so what an exchange keeps as it is.
enum class Stochastic {
  doubly,   // rows and columns: models that agree go on agreeing, and their mean stays
  columns,  // the sum of all models stays, but models that agree part: for push-sum, see SGP
  rows,     // models that agree go on agreeing, but the mean of others moves
};

/// Whom every worker hears in which exchange of a run of rounds, and what it gives to that: a pure
/// function of the exchange's number, from 0, and of a seed. May be directed: row i of a matrix is
/// what worker i hears. Immutable; any thread.
class MixingSchedule {
 public:
  virtual ~MixingSchedule() = default;
  virtual MixingMatrix matrix(std::int64_t exchange, std::uint64_t seed) const = 0;
  /// After so many exchanges the matrices come again, whatever the seed; 0: they are drawn.
  virtual std::int64_t period() const { return 0; }
  virtual Stochastic stochastic() const { return Stochastic::doubly; }
};

/// These matrices in turn, all of them doubly stochastic.
std::shared_ptr<const MixingSchedule> cycle_of(std::vector<MixingMatrix> matrices);

/// A random maximal matching of the graph per exchange: its edges are looked at in random order,
/// and each joins its ends unless one of them is joined. Pairs average, the others hear themselves.
/// Costs O(edges) per exchange; of the complete graph O(workers).
std::shared_ptr<const MixingSchedule> random_matching(const Topology& topology);

/// W that joins these workers in disjoint pairs, which average: ½, ½.
MixingMatrix averaging(int workers, const std::vector<std::pair<int, int>>& pairs);

/// Who hears worker i: the columns of a matrix, ascending.
std::vector<std::vector<int>> receivers_of(const MixingMatrix& matrix);
/// Messages that travel, each from one worker to one other.
std::int64_t messages_of(const MixingMatrix& matrix);

/// How many exchanges tell what a schedule is like: its period or, where matrices are drawn, enough
/// of one seed, fewer of large ones.
std::int64_t telling_exchanges(const MixingSchedule& schedule, int workers);
/// Messages of one exchange: the mean over those.
double mean_messages(const MixingSchedule& schedule);

}  // namespace acid

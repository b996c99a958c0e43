#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "engine/topology/topology.hpp"

namespace acid {

/// Which sums are 1 in all matrices of a schedule, and so what an exchange preserves.
enum class Stochastic {
  doubly,   // rows and columns: equal models stay equal, and the mean of models stays
  columns,  // the sum of all models stays, but equal models become different: for push-sum, see SGP
  rows,     // equal models stay equal, but the mean of unequal ones moves
};

/// Whom every worker hears in each exchange of a run of rounds, and with which weights: a pure
/// function of the exchange's number, from 0, and of a seed. May be directed: row i of a matrix has
/// the workers that worker i hears. Immutable; any thread.
class MixingSchedule {
 public:
  virtual ~MixingSchedule() = default;
  virtual MixingMatrix matrix(std::int64_t exchange, std::uint64_t seed) const = 0;
  /// After this many exchanges the matrices repeat, for any seed; 0: they are drawn.
  virtual std::int64_t period() const { return 0; }
  virtual Stochastic stochastic() const { return Stochastic::doubly; }
};

/// These matrices in turn; all must be doubly stochastic.
std::shared_ptr<const MixingSchedule> cycle_of(std::vector<MixingMatrix> matrices);

/// A random maximal matching of the graph per exchange: the edges are visited in random order, and
/// each joins its ends unless one of them is joined already. Pairs average, the other workers hear
/// themselves. Costs O(edges) per exchange, O(workers) for the complete graph.
std::shared_ptr<const MixingSchedule> random_matching(const Topology& topology);

/// The matrix W in which these disjoint pairs of workers average: ½, ½.
MixingMatrix averaging(int workers, const std::vector<std::pair<int, int>>& pairs);

/// The workers that hear worker i: the columns of a matrix, ascending.
std::vector<std::vector<int>> receivers_of(const MixingMatrix& matrix);
/// The number of messages, each from one worker to another one.
std::int64_t messages_of(const MixingMatrix& matrix);

/// The groups of workers that average with each other, each ascending, a worker alone being one,
/// where the matrix is of disjoint groups in which all have the mean of the group; else empty.
using WorkerGroups = std::vector<std::vector<int>>;
WorkerGroups groups_of(const MixingMatrix& matrix);
/// The largest group of any exchange; 0 where some exchange is not one of groups, or is drawn.
int largest_group(const MixingSchedule& schedule);

/// How many exchanges characterise a schedule: its period or, if matrices are drawn, enough for one
/// seed, fewer for large ones.
std::int64_t telling_exchanges(const MixingSchedule& schedule, int workers);

}  // namespace acid

#include "engine/topology/elimination.hpp"

#include <Eigen/OrderingMethods>
#include <Eigen/SparseCore>
#include <algorithm>
#include <numeric>

#include "engine/base/error.hpp"
#include "engine/topology/lanczos.hpp"

namespace acid {
namespace {

std::vector<int> minimum_degree_order(const Laplacian& laplacian) {
  using Pattern = Eigen::SparseMatrix<double>;
  std::vector<Eigen::Triplet<double>> entries;
  entries.reserve(laplacian.column.size() + laplacian.diagonal.size());
  for (int i = 0; i < laplacian.workers; ++i) {
    entries.emplace_back(i, i, 1.0);  // Eigen takes a row without diagonal for a dense one
    for (auto k = laplacian.first[at(i)]; k < laplacian.first[at(i) + 1]; ++k) {
      entries.emplace_back(laplacian.column[at(k)], i, 1.0);
    }
  }
  Pattern pattern(laplacian.workers, laplacian.workers);
  pattern.setFromTriplets(entries.begin(), entries.end());
  Eigen::PermutationMatrix<Eigen::Dynamic, Eigen::Dynamic, int> order;
  Eigen::AMDOrdering<int>()(pattern, order);
  return {order.indices().data(), order.indices().data() + laplacian.workers};
}

}  // namespace

std::optional<Elimination> Elimination::of(const Laplacian& laplacian, double budget) {
  Elimination elimination;
  elimination.order_ = minimum_degree_order(laplacian);
  elimination.position_.resize(elimination.order_.size());
  for (int p = 0; p < laplacian.workers; ++p) {
    elimination.position_[at(elimination.order_[at(p)])] = p;
  }
  if (!elimination.eliminate(laplacian, budget)) return std::nullopt;
  return elimination;
}

bool Elimination::eliminate(const Laplacian& laplacian, double budget) {
  const auto size = order_.size();
  // The columns already eliminated, in a list for the next position they still touch.
  std::vector<int> head, link;  // made empty: g++ 12 warns wrongly otherwise
  head.assign(size, -1);
  link.assign(size, -1);
  const auto file = [&](int column, int next_position) {
    link[at(column)] = head[at(next_position)];
    head[at(next_position)] = column;
  };
  std::vector<std::int64_t> reached(size);  // per column: how far it has been applied
  std::vector<double> conductance(size, 0.0);
  std::vector<int> rows;
  first_.assign(1, 0);
  sum_.assign(size, 0.0);
  double work = 0;
  for (int j = 0; j < workers(); ++j) {
    rows.clear();
    const auto add = [&](int k, double c) {
      if (conductance[at(k)] == 0) rows.push_back(k);
      conductance[at(k)] += c;
    };
    const int worker = order_[at(j)];
    for (auto k = laplacian.first[at(worker)]; k < laplacian.first[at(worker) + 1]; ++k) {
      const int neighbour = position_[at(laplacian.column[at(k)])];
      if (neighbour > j) add(neighbour, laplacian.rate[at(k)]);
    }
    for (int column = head[at(j)]; column >= 0;) {
      const int next_column = link[at(column)];  // filing the column again changes its link
      const auto here = reached[at(column)]++, end = first_[at(column) + 1];
      const double c = weight_[at(here)] * sum_[at(column)];
      for (auto k = here + 1; k < end; ++k) add(row_[at(k)], c * weight_[at(k)]);
      if (here + 1 < end) file(column, row_[at(here + 1)]);
      work += static_cast<double>(end - here);
      column = next_column;
    }
    // The remaining neighbours become a clique, which costs at least a sixth of its size cubed.
    const auto clique = static_cast<double>(rows.size());
    if (work + clique * clique * clique / 6 > budget) return false;
    ACID_ASSERT(!rows.empty() || j + 1 == workers(), "the graph is not connected");
    std::ranges::sort(rows);
    for (const int k : rows) sum_[at(j)] += conductance[at(k)];
    for (const int k : rows) {
      row_.push_back(k);
      weight_.push_back(conductance[at(k)] / sum_[at(j)]);
      conductance[at(k)] = 0;
    }
    reached[at(j)] = first_.back();
    first_.push_back(static_cast<std::int64_t>(row_.size()));
    if (!rows.empty()) file(j, rows.front());
  }
  return true;
}

void Elimination::solve(const double* in, double* out) const {
  const double mean = std::accumulate(in, in + workers(), 0.0) / workers();
  std::vector<double> value(order_.size());
  for (int j = 0; j < workers(); ++j) value[at(j)] = in[order_[at(j)]] - mean;
  for (int j = 0; j + 1 < workers(); ++j) {
    for (auto k = first_[at(j)]; k < first_[at(j) + 1]; ++k) {
      value[at(row_[at(k)])] += weight_[at(k)] * value[at(j)];
    }
  }
  value.back() = 0;  // the last worker is the reference; the mean is taken out below
  for (int j = workers() - 2; j >= 0; --j) {
    double potential = value[at(j)] / sum_[at(j)];
    for (auto k = first_[at(j)]; k < first_[at(j) + 1]; ++k) {
      potential += weight_[at(k)] * value[at(row_[at(k)])];
    }
    value[at(j)] = potential;
  }
  const double shift = std::accumulate(value.begin(), value.end(), 0.0) / workers();
  for (int j = 0; j < workers(); ++j) out[order_[at(j)]] = value[at(j)] - shift;
}

std::vector<double> Elimination::resistances(std::span<const Edge> edges) const {
  std::vector<double> resistance(row_.size());
  // Scratch of one column: w scattered, and Σ_l w_l R_lk gathered.
  std::vector<double> weight(order_.size(), 0.0), through(order_.size(), 0.0);
  for (int j = workers() - 2; j >= 0; --j) {
    const auto begin = first_[at(j)], end = first_[at(j) + 1];
    for (auto k = begin; k < end; ++k) weight[at(row_[at(k)])] = weight_[at(k)];
    for (auto k = begin; k < end; ++k) {
      const auto column = at(row_[at(k)]);
      double sum = 0;
      for (auto l = first_[column]; l < first_[column + 1]; ++l) {
        const auto row = at(row_[at(l)]);
        if (weight[row] == 0) continue;
        sum += weight[row] * resistance[at(l)];
        through[row] += weight_[at(k)] * resistance[at(l)];
      }
      through[column] += sum;
    }
    double half_mean = 0;
    for (auto k = begin; k < end; ++k) half_mean += weight_[at(k)] * through[at(row_[at(k)])] / 2;
    for (auto k = begin; k < end; ++k) {
      const auto row = at(row_[at(k)]);
      resistance[at(k)] = 1 / sum_[at(j)] + through[row] - half_mean;
      weight[row] = through[row] = 0;
    }
  }
  std::vector<double> result;
  result.reserve(edges.size());
  for (const Edge& edge : edges) {
    const auto [low, high] = std::minmax(position_[at(edge.i)], position_[at(edge.j)]);
    const auto begin = row_.begin() + first_[at(low)], end = row_.begin() + first_[at(low) + 1];
    const auto found = std::lower_bound(begin, end, high);
    ACID_ASSERT(found != end && *found == high, "[{}, {}] is no edge", edge.i, edge.j);
    result.push_back(resistance[at(found - row_.begin())]);
  }
  return result;
}

std::optional<Extremes> direct_extremes(int workers, std::span<const Edge> rates) {
  constexpr double kBudget = 4e9;
  const auto elimination = Elimination::of(Laplacian(workers, rates), kBudget);
  if (!elimination) return std::nullopt;
  // χ₁ is the largest eigenvalue of Λ⁺: unlike the second smallest of Λ, it is well separated from
  // rounding and from its neighbours in graphs of any size.
  const auto solve = [&](const double* in, double* out) { elimination->solve(in, out); };
  const auto chi1 = largest_eigenvalue(workers, solve, 0, 1e-11);
  ACID_ASSERT(chi1, "no convergence for {} workers", workers);
  return Extremes{1 / *chi1, std::ranges::max(elimination->resistances(rates))};
}

}  // namespace acid

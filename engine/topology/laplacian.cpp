#include "engine/topology/laplacian.hpp"

#include "engine/base/error.hpp"

namespace acid {
Laplacian::Laplacian(int worker_count, std::span<const Edge> rates)
    : workers(worker_count),
      first(at(worker_count) + 1),
      column(2 * rates.size()),
      rate(2 * rates.size()),
      diagonal(at(worker_count)) {
  for (const Edge& edge : rates) {
    ACID_ASSERT(edge.weight > 0, "rate {} on edge [{}, {}]", edge.weight, edge.i, edge.j);
    ++first[at(edge.i) + 1];
    ++first[at(edge.j) + 1];
  }
  for (int i = 0; i < workers; ++i) first[at(i) + 1] += first[at(i)];
  std::vector<std::int64_t> next(first.begin(), first.end() - 1);
  const auto add = [&](int i, int j, double weight) {
    const auto place = at(next[at(i)]++);
    column[place] = j;
    rate[place] = weight;
    diagonal[at(i)] += weight;
  };
  for (const Edge& edge : rates) {
    add(edge.i, edge.j, edge.weight);
    add(edge.j, edge.i, edge.weight);
  }
}

void Laplacian::apply(const double* in, double* out) const {
  for (int i = 0; i < workers; ++i) {
    double sum = diagonal[at(i)] * in[i];
    for (std::int64_t k = first[at(i)]; k < first[at(i) + 1]; ++k) {
      sum -= rate[at(k)] * in[column[at(k)]];
    }
    out[i] = sum;
  }
}

}  // namespace acid

#include "engine/run/mean_of_rows.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "engine/base/every_processor.hpp"
#include "engine/recorder/event.hpp"

namespace acid {
namespace {

// Eight elements. Compilers split them where a processor has no such vectors.
using Floats [[gnu::vector_size(32)]] = float;
using Doubles [[gnu::vector_size(64)]] = double;
constexpr std::size_t kEight = 8, kTile = 4 * kEight;
static_assert(kTile == kernels::kSpreadLanes);

// Sums of kTile lanes side by side, so that no addition waits for the one before it.
struct Sums {
  Doubles distance[4] = {}, length[4] = {};  // squares: Σᵢ(xᵢ − x̄)² of the workers, and x̄²
  static double total(const Doubles* lanes) {
    const Doubles four = (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]);
    double sum = 0;
    for (std::size_t k = 0; k < kEight; ++k) sum += four[k];
    return sum;
  }
};

[[gnu::always_inline]] inline void read_eight(const float* from, Doubles& into) {
  Floats values;
  std::memcpy(&values, from, sizeof values);
  into = __builtin_convertvector(values, Doubles);
}

// Adds elements [first, last) of n rows, a multiple of kTile, to the sums; their mean goes to
// `mean` unless that is null. Per element: the mean adds the rows in order, and so do the squares.
ACID_EVERY_PROCESSOR
void add_rows(const float* const* rows, std::size_t n, std::size_t first, std::size_t last,
              float* mean, Sums& sums) {
  const auto count = static_cast<double>(n);
  const bool exact = (n & (n - 1)) == 0;  // then a product has the bits of the quotient, sooner
  for (std::size_t k = first; k < last; k += kTile) {
    Doubles middle[4] = {}, squares[4] = {};
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t v = 0; v < 4; ++v) {
        Doubles value;
        read_eight(rows[i] + k + kEight * v, value);
        middle[v] += value;
      }
    for (Doubles& part : middle) part = exact ? part * (1 / count) : part / count;
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t v = 0; v < 4; ++v) {
        Doubles difference;
        read_eight(rows[i] + k + kEight * v, difference);
        difference -= middle[v];
        squares[v] += difference * difference;
      }
    for (std::size_t v = 0; v < 4; ++v) {
      sums.distance[v] += squares[v];
      sums.length[v] += middle[v] * middle[v];
      if (mean == nullptr) continue;
      const Floats rounded = __builtin_convertvector(middle[v], Floats);
      std::memcpy(mean + k + kEight * v, &rounded, sizeof rounded);
    }
  }
}

// Adds the last elements of the rows, fewer than kTile, as if zeros followed them.
void add_rest(std::span<const float*> rows, std::size_t first, std::size_t size, float* mean,
              Sums& sums) {
  std::vector<float> padded((rows.size() + 1) * kTile);
  std::vector<const float*> own;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::copy_n(rows[i] + first, size, padded.data() + i * kTile);
    own.push_back(padded.data() + i * kTile);
  }
  float* const rounded = padded.data() + rows.size() * kTile;
  add_rows(own.data(), own.size(), 0, kTile, rounded, sums);
  if (mean != nullptr) std::copy_n(rounded, size, mean + first);
}

}  // namespace

std::size_t block_size(std::size_t workers) {
  static_assert(kTile % FullFingerprint::kPiece == 0);
  return std::clamp<std::size_t>((1u << 16) / workers / kTile * kTile, kTile, 1024);
}

MeanModel mean_of_rows(std::size_t n, std::size_t d, bool keeps_mean, const RowsAt& rows_at) {
  constexpr std::size_t kPart = kernels::kSpreadPart;
  const std::size_t block = block_size(n);
  std::vector<const float*> rows(n);
  MeanModel mean;
  if (keeps_mean) mean.x.resize(d);
  double distance = 0, length = 0;
  Sums sums;
  for (std::size_t first = 0; first < d; first += block) {
    const std::size_t size = std::min(block, d - first);
    rows_at(first, size, std::span(rows));
    float* const out = keeps_mean ? mean.x.data() + first : nullptr;
    for (std::size_t k = 0; k < size;) {
      const std::size_t end = std::min(size, k + kPart - (first + k) % kPart);
      const std::size_t whole = (end - k) / kTile * kTile;
      add_rows(rows.data(), n, k, k + whole, out, sums);
      if (k + whole < end) add_rest(rows, k + whole, end - k - whole, out, sums);
      k = end;
      if ((first + k) % kPart != 0 && first + k < d) continue;
      distance += Sums::total(sums.distance);
      length += Sums::total(sums.length);
      sums = {};
    }
  }
  mean.consensus_distance = distance / static_cast<double>(n);
  mean.length = std::sqrt(length);
  return mean;
}

MeanModel spread_of_rows(std::size_t n, std::size_t d, std::size_t block, const Backend& device,
                         const RowsAt& rows_at) {
  std::vector<const float*> rows(n);
  std::vector<kernels::SpreadSums> sums;
  double distance = 0, length = 0;
  for (std::size_t first = 0; first < d; first += block) {
    const std::size_t size = std::min(block, d - first);
    rows_at(first, size, std::span(rows));
    sums.resize((size + kernels::kSpreadPart - 1) / kernels::kSpreadPart);
    device.kernels<float>().spread(rows.data(), n, size, sums.data());
    for (const kernels::SpreadSums& part : sums) {
      distance += part.distance;
      length += part.length;
    }
  }
  MeanModel mean;
  mean.consensus_distance = distance / static_cast<double>(n);
  mean.length = std::sqrt(length);
  return mean;
}

}  // namespace acid

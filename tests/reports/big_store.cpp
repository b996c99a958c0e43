// acid_big_store DIR RUNS POINTS: writes a store to measure reports with. Four algorithms at five
// numbers of workers, as many seeds as RUNS takes (60: three), six metrics of POINTS samples each.
// acid_big_store DIR sweep POINTS: 64 settings (workers, learning rate, partition) with five seeds.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <exception>
#include <string_view>

#include "engine/base/error.hpp"
#include "store/store.hpp"
#include "tests/reports/synthetic.hpp"

namespace {

constexpr int kGroups = 20;

int count_in(std::string_view text) {
  int count = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (failed != std::errc() || end != text.data() + text.size() || count < 1)
    throw acid::UsageError(fmt::format("'{}' is not a number of runs or points", text));
  return count;
}

void write_store(const std::string& folder, std::string_view runs, int points) {
  acid::synthetic::Shape shape;
  shape.name = "big";
  shape.algorithms = {"ar-sgd", "d-psgd", "ad-psgd", "a2cid2"};
  if (runs == "sweep") {
    shape.workers = {4, 8, 16, 32};
    shape.learning_rates = {0.2, 0.4, 0.8, 1.6};
    shape.alphas = {0, 0.1, 1, 10};
    shape.seeds = 5;
  } else {
    shape.workers = {4, 8, 16, 32, 64};
    shape.most_runs = static_cast<std::size_t>(count_in(runs));
    shape.seeds = (count_in(runs) + kGroups - 1) / kGroups;
  }
  shape.samples = std::max(1, points - 1);
  shape.time = std::max(400, points);
  shape.more_metrics = true;
  acid::Store store(folder, acid::Store::Access::write);
  const auto ids = acid::synthetic::fill(store, shape);
  fmt::print("{} runs × {} points × 6 metrics in {}\n", ids.size(), points, folder);
}

}  // namespace

int main(int count, char** words) {
  if (count != 4) {
    fmt::print(stderr, "usage: acid_big_store DIR RUNS|sweep POINTS\n");
    return 2;
  }
  try {
    write_store(words[1], words[2], count_in(words[3]));
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "acid_big_store: {}\n", error.what());
    return 1;
  }
}

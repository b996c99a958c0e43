#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "reports/compare.hpp"
#include "reports/compare_formats.hpp"
#include "store/store.hpp"
#include "tests/scratch.hpp"

namespace acid {
struct ReportData;
}

namespace acid::synthetic {

using Folder = test::ScratchFolder;

inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// How often a text has that part.
std::size_t count_of(const std::string& text, const std::string& part);

/// A made-up experiment with curves that look like training: every algorithm at every number of
/// workers with every seed. Equal shapes give equal stores, except the times of day in them.
struct Shape {
  std::string name = "synthetic";
  std::vector<std::string> algorithms{"ar-sgd", "ad-psgd", "a2cid2"};
  std::vector<int> workers{16};
  std::string topology = "ring";
  int seeds = 3;
  int samples = 200;
  double time = 400;                         // normalised, at the end
  double gradients_per_epoch = 0;            // 0: epochs have no meaning
  bool more_metrics = false;                 // staleness and idle_share of the whole run as well
  std::size_t most_runs = 1'000'000;         // the first so many of them
  std::vector<double> learning_rates{0.05};  // each at every number of workers
  std::vector<double> alphas{0};             // of a Dirichlet partition; 0: none
  std::map<std::string, Target> targets{};   // by algorithm: where its runs stop
};

/// A run for a comparison, with the given metrics.
ComparedRun run(const std::string& algorithm, std::uint64_t seed,
                const std::map<std::string, double>& metrics, const nlohmann::json& settings = {});

/// Columns of the longest line.
int widest_line(const std::string& text);
/// Whether a note has that part.
bool noted(const Comparison& comparison, const std::string& part);
/// The verdict's sentences, a line each.
std::string sentences_of(const Comparison& comparison);
/// A report's data with this comparison and nothing else.
ReportData page_of(const Comparison& comparison);
/// Its section of the verdict.
std::string verdict_page_of(const Comparison& comparison);

/// Writes an experiment and its runs into the store. Returns the ids of the runs in the recipe's
/// order.
std::vector<std::string> fill(Store& store, const Shape& shape);

/// A store of its own that is filled.
struct Filled {
  explicit Filled(const Shape& shape) : ids(fill(store, shape)) {}
  Folder folder;
  Store store{folder.path(), Store::Access::write};
  std::vector<std::string> ids;
};

/// A planned run with another seed than one that is in a store.
RunRecord another_seed(const RunDetail& like, std::uint64_t seed);

}  // namespace acid::synthetic

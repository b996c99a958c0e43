#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/base/error.hpp"
#include "engine/data/analytic.hpp"
#include "engine/data/sparse_rows.hpp"
#include "engine/data/splits.hpp"
#include "engine/data/survey.hpp"

namespace acid {
namespace {

constexpr std::int64_t kChunk = 1024;  // examples per evaluation chunk

constexpr auto kLogisticFields = std::to_array<Field>({
    {"path", FieldType::file, "null",
     "LIBSVM file with two classes, plain or .gz; absent: synthetic examples"},
    {"test_fraction", FieldType::number, "0.2",
     "share of the file's examples kept for testing, one at least; 0: test on all, which all train",
     0, 1, false, true},
    {"dimension", FieldType::integer, "32", "features of a synthetic example", 1, 1e7},
    {"separation", FieldType::number, "2.0",
     "distance between the two synthetic classes, in their standard deviations", 0, 1e6},
    {"label_noise", FieldType::number, "0.0", "share of synthetic training labels flipped", 0, 1},
    {"train", FieldType::integer, "6000", "synthetic training examples", 1, 1e7},
    {"test", FieldType::integer, "1000", "synthetic test examples, never flipped", 1, 1e7},
    {"seed", FieldType::integer, "0", "seed of the synthetic examples or of the test share", 0},
    {"regularisation", FieldType::number, "1e-4", "lambda of lambda/2 |w|^2; spares the bias", 0,
     1e6},
});

struct Examples {
  std::shared_ptr<const SparseRows> train, test, validation;
};

// x = ± separation/2 · u + N(0, I) for a random unit vector u; the classes take turns.
std::shared_ptr<const SparseRows> draw_rows(const nlohmann::json& options, DataPart part,
                                            std::int64_t count, double label_noise) {
  const auto seed = options.at("seed").get<std::uint64_t>();
  std::vector<double> offset(static_cast<std::size_t>(integer(options, "dimension")));
  Stream direction(data_key(seed, DataPart::task));
  double squared = 0;
  for (double& value : offset) {
    value = direction.normal();
    squared += value * value;
  }
  for (double& value : offset) value *= number(options, "separation") / 2 / std::sqrt(squared);

  auto rows = std::make_shared<SparseRows>(std::ssize(offset));
  for (std::int64_t e = 0; e < count; ++e) {
    Stream stream(data_key(seed, part), static_cast<std::uint64_t>(e));
    const int label = static_cast<int>(e % 2);
    for (std::size_t k = 0; k < offset.size(); ++k)
      rows->add_entry(static_cast<std::int32_t>(k),
                      static_cast<float>((2 * label - 1) * offset[k] + stream.normal()));
    const bool flipped = stream.uniform() < label_noise;
    rows->end_row(flipped ? 1 - label : label);
  }
  return rows;
}

std::int64_t test_share(const nlohmann::json& options, std::int64_t total) {
  const double fraction = number(options, "test_fraction");
  if (fraction == 0) return 0;
  return std::max<std::int64_t>(std::llround(fraction * static_cast<double>(total)), 1);
}

void add_row(SparseRows& to, const SparseRows& from, std::int64_t example) {
  const SparseRows::Row row = from.row(example);
  for (std::size_t k = 0; k < row.values.size(); ++k) to.add_entry(row.columns[k], row.values[k]);
  to.end_row(from.label(example));
}

// The first `test_share` of a random order becomes the test set.
Examples split_rows(SparseRows all, const nlohmann::json& options) {
  const std::int64_t total = all.size(), held_out = test_share(options, total);
  if (held_out == 0) {
    const auto shared = std::make_shared<SparseRows>(std::move(all));
    return {shared, shared, nullptr};
  }
  auto train = std::make_shared<SparseRows>(all.columns());
  auto test = std::make_shared<SparseRows>(all.columns());
  const Permutation order(data_key(options.at("seed").get<std::uint64_t>(), DataPart::task),
                          static_cast<std::uint64_t>(total));
  for (std::int64_t i = 0; i < total; ++i) {
    const auto e = static_cast<std::int64_t>(order.at(static_cast<std::uint64_t>(i)));
    add_row(i < held_out ? *test : *train, all, e);
  }
  return {train, test, nullptr};
}

bool from_file(const nlohmann::json& options) { return !options.at("path").is_null(); }

SparseRows read_file(const nlohmann::json& options) {
  SparseRows rows = read_libsvm(text(options, "path"));
  if (test_share(options, rows.size()) == rows.size())
    throw UsageError(
        fmt::format("{} has {} examples and test_fraction keeps them all for testing: "
                    "lower it",
                    text(options, "path"), rows.size()));
  return rows;
}

Examples make_examples(const nlohmann::json& options, std::int64_t validation) {
  Examples examples;
  if (from_file(options)) {
    examples = split_rows(read_file(options), options);
  } else {
    examples.train = draw_rows(options, DataPart::train, integer(options, "train"),
                               number(options, "label_noise"));
    examples.test = draw_rows(options, DataPart::test, integer(options, "test"), 0);
  }
  if (validation == 0) return examples;
  const HeldOut parts = hold_out(examples.train->size(), validation, validation_key(options));
  const auto some = [&](const std::vector<std::int32_t>& numbers) {
    auto rows = std::make_shared<SparseRows>(examples.train->columns());
    for (const std::int32_t example : numbers) add_row(*rows, *examples.train, example);
    return rows;
  };
  examples.validation = some(parts.validation);
  examples.train = some(parts.train);
  return examples;
}

// log(1 + e^−m), without overflow.
double logistic_loss(double margin) {
  return std::max(-margin, 0.0) + std::log1p(std::exp(-std::abs(margin)));
}

/// F(w, b) = mean over the batch of log(1 + exp(−y(w·x + b))) + λ/2 |w|²; parameters w, b.
class Logistic final : public Objective {
 public:
  Logistic(Examples examples, const nlohmann::json& options, int workers, int batch_size,
           const nlohmann::json& partition, const Seeds& seeds)
      : examples_(std::move(examples)),
        regularisation_(number(options, "regularisation")),
        batch_size_(batch_size),
        shards_(make_shards(*examples_.train, 2, workers, partition, seeds)),
        sample_(training_sample(examples_.train->size(), examples_.test->size(), seeds)) {
    ACID_ASSERT(batch_size_ >= 1, "batch size {}", batch_size_);
    for (int i = 0; i < workers; ++i) orders_.emplace_back(shards_.of(i), seeds, i);
  }
  Logistic(const Logistic&) = delete;  // orders_ points into shards_
  Logistic& operator=(const Logistic&) = delete;

  std::size_t dimension() const override {
    return static_cast<std::size_t>(examples_.train->columns()) + 1;
  }
  std::vector<std::vector<std::int64_t>> holdings() const override {
    return count_holdings(shards_, *examples_.train, 2, static_cast<int>(orders_.size()));
  }
  std::vector<Segment> segments() const override {
    const std::int64_t columns = examples_.train->columns();
    return {{"weight", {columns}, 0, columns}, {"bias", {1}, columns, 1}};
  }

  /// The objective is convex, so every worker starts at zero.
  void start(int, std::span<float> x, std::span<float>) const override {
    std::fill(x.begin(), x.end(), 0.0f);
  }

  double gradient(int, int worker, std::int64_t step, std::span<const float> x, std::span<float>,
                  std::span<float> g) override {
    ACID_ASSERT(x.size() == dimension() && g.size() == dimension(), "{}, {} of {} parameters",
                x.size(), g.size(), dimension());
    const DataOrder& order = orders_.at(static_cast<std::size_t>(worker));
    const std::size_t bias = x.size() - 1;
    const auto decay = static_cast<float>(regularisation_);
    double squared = 0, loss = 0, bias_gradient = 0;
    for (std::size_t k = 0; k < bias; ++k) {
      g[k] = decay * x[k];
      squared += static_cast<double>(x[k]) * x[k];
    }
    std::array<std::int32_t, 64> examples;
    std::array<double, examples.size()> scores;
    for (int first = 0; first < batch_size_; first += static_cast<int>(examples.size())) {
      const auto count = std::min(examples.size(), static_cast<std::size_t>(batch_size_ - first));
      order.read(step * batch_size_ + first, std::span(examples).first(count));
      score_all(std::span(examples).first(count), x, scores);
      for (std::size_t e = 0; e < count; ++e) {
        const SparseRows::Row row = examples_.train->row(examples[e]);
        const double sign = examples_.train->label(examples[e]) == 1 ? 1 : -1;
        const double margin = sign * scores[e];
        loss += logistic_loss(margin);
        const double slope = -sign / (1 + std::exp(margin)) / batch_size_;
        for (std::size_t k = 0; k < row.values.size(); ++k)
          g[static_cast<std::size_t>(row.columns[k])] += static_cast<float>(slope * row.values[k]);
        bias_gradient += slope;
      }
    }
    g[bias] = static_cast<float>(bias_gradient);
    return loss / batch_size_ + regularisation_ / 2 * squared;
  }

  int evaluation_chunks(EvaluationSet set) const override {
    return static_cast<int>((size_of(set) + kChunk - 1) / kChunk);
  }
  PartialEvaluation evaluate(int, EvaluationSet set, int chunk, std::span<const float> x,
                             std::span<const float>) override {
    ACID_ASSERT(chunk >= 0 && chunk < evaluation_chunks(set), "chunk {}", chunk);
    const bool training = set == EvaluationSet::training;
    const SparseRows& rows = training                           ? *examples_.train
                             : set == EvaluationSet::validation ? *examples_.validation
                                                                : *examples_.test;
    const double penalty = training ? regularisation_ / 2 * squared_weights(x) : 0;
    const std::int64_t begin = chunk * kChunk;
    const std::int64_t end = std::min(begin + kChunk, size_of(set));
    PartialEvaluation sum;
    for (std::int64_t k = begin; k < end; ++k) {
      const std::int64_t e = training ? sample_[static_cast<std::size_t>(k)] : k;
      const double value = score(rows.row(e), x);
      const bool positive = rows.label(e) == 1;
      sum.loss_sum += logistic_loss(positive ? value : -value) + penalty;
      sum.correct += (value > 0) == positive ? 1 : 0;
      ++sum.count;
    }
    return sum;
  }
  bool has_accuracy() const override { return true; }
  bool has_validation() const override { return examples_.validation != nullptr; }

 private:
  std::int64_t size_of(EvaluationSet set) const {
    if (set == EvaluationSet::training) return std::ssize(sample_);
    if (set == EvaluationSet::test) return examples_.test->size();
    return examples_.validation ? examples_.validation->size() : 0;
  }
  static double squared_weights(std::span<const float> x) {
    double sum = 0;
    for (const float weight : x.first(x.size() - 1)) sum += static_cast<double>(weight) * weight;
    return sum;
  }
  static double term(const SparseRows::Row& row, std::size_t k, std::span<const float> x) {
    return static_cast<double>(row.values[k]) * x[static_cast<std::size_t>(row.columns[k])];
  }
  static double score(const SparseRows::Row& row, std::span<const float> x) {
    double sum = x.back();
    for (std::size_t k = 0; k < row.values.size(); ++k) sum += term(row, k, x);
    return sum;
  }

  // scores[e] = score() of training example examples[e]. Four sums are computed side by side,
  // because each addition waits for the one before it in the same sum.
  void score_all(std::span<const std::int32_t> examples, std::span<const float> x,
                 std::span<double> scores) const {
    std::size_t e = 0;
    for (; e + 4 <= examples.size(); e += 4) {
      std::array<SparseRows::Row, 4> rows;
      std::array<double, 4> sums;
      sums.fill(x.back());
      std::size_t common = x.size();
      for (std::size_t r = 0; r < 4; ++r) {
        rows[r] = examples_.train->row(examples[e + r]);
        common = std::min(common, rows[r].values.size());
      }
      for (std::size_t k = 0; k < common; ++k)
        for (std::size_t r = 0; r < 4; ++r) sums[r] += term(rows[r], k, x);
      for (std::size_t r = 0; r < 4; ++r) {
        for (std::size_t k = common; k < rows[r].values.size(); ++k) sums[r] += term(rows[r], k, x);
        scores[e + r] = sums[r];
      }
    }
    for (; e < examples.size(); ++e) scores[e] = score(examples_.train->row(examples[e]), x);
  }

  // Immutable after construction; no scratch, so lanes do not matter.
  Examples examples_;
  double regularisation_;
  int batch_size_;
  Shards shards_;
  std::vector<std::int32_t> sample_;  // training examples for evaluations
  std::vector<DataOrder> orders_;
};

constexpr std::int64_t kManyFeatures = 1'000;  // for each value of the training examples

// A LIBSVM file does not state its dimension, so planning reads all of it.
DataInfo inspect_logistic(const nlohmann::json& options) {
  if (!from_file(options)) {
    DataInfo info{{}, integer(options, "train"), integer(options, "test"), {}};
    info.dimension = integer(options, "dimension") + 1;
    return info;
  }
  const std::string path = text(options, "path");
  const Examples examples = split_rows(read_file(options), options);
  DataInfo info{{1, 1, static_cast<int>(examples.train->columns()), 2},
                examples.train->size(),
                examples.test->size(),
                {path}};
  survey(info, {*examples.train, "LIBSVM", path},
         {.split = *examples.test,
          .type = "LIBSVM",
          .inputs = path,
          .trained = examples.test == examples.train});
  const std::int64_t columns = examples.train->columns(), entries = examples.train->entries();
  if (columns / kManyFeatures > entries)
    info.doubts.push_back(
        {fmt::format("{}: the largest index is {}, and the training examples have {} values: each "
                     "vector of a worker takes {:.3g} GB",
                     path, columns, entries, static_cast<double>(columns) * sizeof(float) / 1e9),
         "look for the index in the file, and correct it if it is none of a feature"});
  info.dimension = columns + 1;
  return info;
}

std::unique_ptr<Objective> make_logistic(const nlohmann::json& options, int workers, int batch_size,
                                         const nlohmann::json& partition, std::int64_t validation,
                                         const Seeds& seeds, int) {
  return std::make_unique<Logistic>(make_examples(options, validation), options, workers,
                                    batch_size, partition, seeds);
}

const char* no_effect_in_logistic(std::string_view option, const nlohmann::json& options) {
  const bool reads_file = options.at("path").is_string();
  if (option == "test_fraction") return reads_file ? nullptr : "no file is read";
  constexpr std::array<std::string_view, 5> kDrawn = {"dimension", "separation", "label_noise",
                                                      "train", "test"};
  return reads_file && std::ranges::find(kDrawn, option) != kDrawn.end()
             ? "the examples are those of the file"
             : nullptr;
}

}  // namespace

/// Binary logistic regression. The training loss includes the regularisation, as the gradient does;
/// the evaluation on other examples reports the plain log loss and the accuracy.
AnalyticEntry analytic_logistic() {
  return {"logistic",           "binary logistic regression, synthetic or on a LIBSVM file",
          kLogisticFields,      true,
          inspect_logistic,     make_logistic,
          no_effect_in_logistic};
}

}  // namespace acid

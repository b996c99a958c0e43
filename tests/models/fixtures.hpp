#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/rng.hpp"
#include "engine/data/dataset.hpp"
#include "engine/models/model.hpp"

namespace acid::test {

constexpr DataShape kGlyphs{1, 28, 28, 10};
constexpr DataShape kCifar{3, 32, 32, 10};
constexpr DataShape kTiny{2, 8, 8, 3};
constexpr DataShape kSequence{1, 1, 12, 17, true};

/// The shape of examples that the model accepts.
inline const DataShape& shape_for(const ModelEntry& entry) {
  return entry.tokens ? kSequence : kCifar;
}

/// A model's options with "kind" and every field.
inline nlohmann::json model_options(const std::string& kind,
                                    nlohmann::json given = nlohmann::json::object()) {
  given["kind"] = kind;
  return with_fallbacks(find_model(kind)->fields, given);
}

/// Parameters and buffers at their start point.
struct State {
  std::vector<float> x, buffers;
  State(const nlohmann::json& options, const DataShape& shape, std::uint64_t seed = 1) {
    const Layout layout = find_model(options.at("kind").get<std::string>())->layout(options, shape);
    x.resize(static_cast<std::size_t>(layout.parameter_count()));
    buffers.resize(static_cast<std::size_t>(layout.buffer_count()));
    initialise(layout, Seeds(seed), x, buffers);
  }
};

/// Random examples; the mean of the features depends on the class, and most tokens on the token
/// before, so that a model can learn.
struct Examples {
  DataShape shape;
  std::vector<float> features;
  std::vector<std::int64_t> labels;

  Examples(const DataShape& of, int rows, std::uint64_t seed) : shape(of) {
    Stream stream(seed);
    if (shape.tokens) {
      draw_sequences(rows, stream);
      return;
    }
    for (int row = 0; row < rows; ++row) {
      labels.push_back(static_cast<std::int64_t>(stream.below(shape.classes)));
      const double mean = 0.5 * static_cast<double>(labels.back()) - 0.5;
      for (std::int64_t k = 0; k < shape.features(); ++k)
        features.push_back(static_cast<float>(mean + stream.normal()));
    }
  }
  Batch batch() const { return {features, labels}; }
  std::int64_t rows() const { return std::ssize(labels) / shape.labels(); }

 private:
  void draw_sequences(int rows, Stream& stream) {
    const auto vocabulary = static_cast<std::uint64_t>(shape.classes);
    for (int row = 0; row < rows; ++row) {
      std::uint64_t token = stream.below(vocabulary);
      for (int place = 0; place < shape.width; ++place) {
        features.push_back(static_cast<float>(token));
        token = stream.below(4) == 0 ? stream.below(vocabulary) : (3 * token + 1) % vocabulary;
        labels.push_back(static_cast<std::int64_t>(token));
      }
    }
  }
};

class ExamplesSplit : public Split {
 public:
  explicit ExamplesSplit(Examples examples) : examples_(std::move(examples)) {}
  std::int64_t size() const override { return examples_.rows(); }
  int label(std::int64_t example) const override {
    return examples_.shape.tokens
               ? 0
               : static_cast<int>(examples_.labels[static_cast<std::size_t>(example)]);
  }
  void copy_labels(std::int64_t example, std::span<std::int64_t> out) const override {
    const std::span all(examples_.labels);
    std::ranges::copy(all.subspan(static_cast<std::size_t>(example) * out.size(), out.size()),
                      out.begin());
  }
  void copy_features(std::int64_t example, std::span<float> out) const override {
    const auto width = static_cast<std::size_t>(examples_.shape.features());
    const std::span all(examples_.features);
    std::ranges::copy(all.subspan(static_cast<std::size_t>(example) * width, width), out.begin());
  }

 private:
  Examples examples_;
};

inline Dataset make_dataset(const DataShape& shape, int train, int test, std::uint64_t seed = 1) {
  Dataset dataset;
  dataset.shape = shape;
  dataset.train = std::make_shared<ExamplesSplit>(Examples(shape, train, seed));
  dataset.test = std::make_shared<ExamplesSplit>(Examples(shape, test, seed + 1));
  return dataset;
}

}  // namespace acid::test

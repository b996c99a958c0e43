#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>

#include "engine/data/splits.hpp"

namespace acid {
namespace {

constexpr auto kGaussianMixtureFields = std::to_array<Field>({
    {"classes", FieldType::integer, "10", "number of clusters", 2, 10000},
    {"dimension", FieldType::integer, "32", "features of an example", 1, 1e6},
    {"separation", FieldType::number, "4.0",
     "typical distance between two cluster centres, in standard deviations of a cluster", 0, 1e6},
    {"train", FieldType::integer, "6000", "training examples", 1, 1e7},
    {"test", FieldType::integer, "1000", "test examples", 1, 1e7},
    {"seed", FieldType::integer, "0", "seed of the examples; runs with any seed share them", 0},
});

using Centres = std::vector<std::vector<double>>;

// Directions are uniform on the sphere of radius separation/√2: two independent ones are about
// orthogonal, hence `separation` apart.
Centres draw_centres(const DataShape& shape, double separation, std::uint64_t key) {
  Centres centres(static_cast<std::size_t>(shape.classes));
  for (std::size_t label = 0; label < centres.size(); ++label) {
    Stream stream(key, label);
    centres[label].resize(static_cast<std::size_t>(shape.features()));
    double squared = 0;
    for (double& value : centres[label]) {
      value = stream.normal();
      squared += value * value;
    }
    const double scale = separation / std::numbers::sqrt2 / std::sqrt(squared);
    for (double& value : centres[label]) value *= scale;
  }
  return centres;
}

std::shared_ptr<const Split> draw_gaussian_mixture_split(const Centres& centres, std::uint64_t key,
                                                         std::int64_t size) {
  const auto count = static_cast<std::size_t>(size);
  std::vector<float> features;
  std::vector<std::int32_t> labels(count);
  features.reserve(count * centres[0].size());
  for (std::size_t e = 0; e < count; ++e) {
    const std::size_t label = e % centres.size();
    labels[e] = static_cast<std::int32_t>(label);
    Stream stream(key, e);
    for (const double centre : centres[label])
      features.push_back(static_cast<float>(centre + stream.normal()));
  }
  return std::make_shared<FloatRows>(std::move(features), std::move(labels));
}

DataInfo inspect_gaussian_mixture(const nlohmann::json& options) {
  const auto dimension = static_cast<int>(integer(options, "dimension"));
  const auto classes = static_cast<int>(integer(options, "classes"));
  return {{1, 1, dimension, classes}, integer(options, "train"), integer(options, "test"), {}};
}

Dataset load_gaussian_mixture(const nlohmann::json& options) {
  const DataInfo info = inspect_gaussian_mixture(options);
  const auto seed = options.at("seed").get<std::uint64_t>();
  const Centres centres =
      draw_centres(info.shape, number(options, "separation"), data_key(seed, DataPart::task));
  return {info.shape,
          draw_gaussian_mixture_split(centres, data_key(seed, DataPart::train), info.train_size),
          draw_gaussian_mixture_split(centres, data_key(seed, DataPart::test), info.test_size),
          {}};
}

}  // namespace

/// One isotropic Gaussian of variance 1 per class; classes take turns, so they are balanced.
DatasetEntry dataset_gaussian_mixture() {
  return {"gaussian-mixture", "one Gaussian cluster per class, no files", kGaussianMixtureFields,
          inspect_gaussian_mixture, load_gaussian_mixture};
}

}  // namespace acid

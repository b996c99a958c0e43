#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>

#include "engine/data/splits.hpp"

namespace acid {
namespace {

constexpr auto kGaussianMixtureFields = std::to_array<Field>({
    {"classes", FieldType::integer, "10", "number of classes", 2, 10000},
    {"dimension", FieldType::integer, "32", "features of an example", 1, 1e6},
    {"separation", FieldType::number, "4.0", "typical distance between two cluster centres", 0,
     1e6},
    {.name = "clusters_per_class",
     .type = FieldType::integer,
     .fallback = "1",
     .help = "clusters of each class: more than one, and no linear model separates them",
     .minimum = 1,
     .maximum = 1000,
     .later = true},
    {.name = "noise",
     .type = FieldType::number,
     .fallback = "1.0",
     .help = "standard deviation of a cluster",
     .minimum = 0,
     .maximum = 1e6,
     .later = true},
    {"train", FieldType::integer, "6000", "training examples", 1, 1e7},
    {"test", FieldType::integer, "1000", "test examples", 1, 1e7},
    {"seed", FieldType::integer, "0", "seed of the examples; runs with any seed share them", 0},
});

using Centres = std::vector<std::vector<double>>;

// Directions are uniform on the sphere of radius separation/√2: two independent ones are about
// orthogonal, hence `separation` apart.
Centres draw_centres(std::size_t count, std::size_t dimension, double separation,
                     std::uint64_t key) {
  Centres centres(count, std::vector<double>(dimension));
  for (std::size_t cluster = 0; cluster < count; ++cluster) {
    Stream stream(key, cluster);
    double squared = 0;
    for (double& value : centres[cluster]) {
      value = stream.normal();
      squared += value * value;
    }
    const double scale = separation / std::numbers::sqrt2 / std::sqrt(squared);
    for (double& value : centres[cluster]) value *= scale;
  }
  return centres;
}

// Cluster c has class c modulo the number of classes; clusters take turns.
std::shared_ptr<const Split> draw_gaussian_mixture_split(const Centres& centres,
                                                         std::size_t classes, double noise,
                                                         std::uint64_t key, std::int64_t size) {
  const auto count = static_cast<std::size_t>(size);
  std::vector<float> features;
  std::vector<std::int32_t> labels(count);
  features.reserve(count * centres[0].size());
  for (std::size_t e = 0; e < count; ++e) {
    labels[e] = static_cast<std::int32_t>(e % classes);
    Stream stream(key, e);
    for (const double centre : centres[e % centres.size()])
      features.push_back(static_cast<float>(centre + noise * stream.normal()));
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
  const auto classes = static_cast<std::size_t>(info.shape.classes);
  const double noise = options.value("noise", 1.0);
  const Centres centres =
      draw_centres(classes * options.value("clusters_per_class", std::size_t{1}),
                   static_cast<std::size_t>(info.shape.features()), number(options, "separation"),
                   data_key(seed, DataPart::task));
  const auto draw = [&](DataPart part, std::int64_t size) {
    return draw_gaussian_mixture_split(centres, classes, noise, data_key(seed, part), size);
  };
  return {info.shape, draw(DataPart::train, info.train_size), draw(DataPart::test, info.test_size)};
}

}  // namespace

/// Isotropic Gaussians; classes take turns, so they are balanced.
DatasetEntry dataset_gaussian_mixture() {
  return {"gaussian-mixture", "Gaussian clusters of each class, no files", kGaussianMixtureFields,
          inspect_gaussian_mixture, load_gaussian_mixture};
}

}  // namespace acid

#include <algorithm>
#include <cmath>
#include <set>

#include "engine/data/splits.hpp"
#include "tests/data/scratch.hpp"

namespace acid::testing {
namespace {

const std::vector<std::string> kSynthetic{"glyphs", "gaussian-mixture", "teacher-student"};

std::vector<std::int64_t> class_counts(const Split& split, int classes) {
  std::vector<std::int64_t> counts(static_cast<std::size_t>(classes));
  for (std::int64_t e = 0; e < split.size(); ++e)
    ++counts[static_cast<std::size_t>(split.label(e))];
  return counts;
}

double squared_distance(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (std::size_t k = 0; k < a.size(); ++k) sum += std::pow(double{a[k]} - b[k], 2);
  return sum;
}

// Share of test examples whose nearest reference has their label.
double nearest_accuracy(const Dataset& data, const std::vector<std::vector<float>>& references,
                        const std::vector<int>& labels) {
  int correct = 0;
  for (std::int64_t e = 0; e < data.test->size(); ++e) {
    const auto x = features(*data.test, e, data.shape.features());
    std::size_t best = 0;
    double best_distance = std::numeric_limits<double>::infinity();
    for (std::size_t r = 0; r < references.size(); ++r) {
      const double distance = squared_distance(x, references[r]);
      if (distance < best_distance) {
        best_distance = distance;
        best = r;
      }
    }
    correct += labels[best] == data.test->label(e) ? 1 : 0;
  }
  return correct / static_cast<double>(data.test->size());
}

// Class means form a linear classifier; all training examples, a nearest-neighbour one.
double class_mean_accuracy(const Dataset& data) {
  const auto classes = static_cast<std::size_t>(data.shape.classes);
  std::vector<std::vector<float>> means(
      classes, std::vector<float>(static_cast<std::size_t>(data.shape.features())));
  const auto counts = class_counts(*data.train, data.shape.classes);
  for (std::int64_t e = 0; e < data.train->size(); ++e) {
    const auto label = static_cast<std::size_t>(data.train->label(e));
    const auto x = features(*data.train, e, data.shape.features());
    for (std::size_t k = 0; k < x.size(); ++k)
      means[label][k] += x[k] / static_cast<float>(counts[label]);
  }
  std::vector<int> labels;
  for (std::size_t label = 0; label < classes; ++label) labels.push_back(static_cast<int>(label));
  return nearest_accuracy(data, means, labels);
}

double neighbour_accuracy(const Dataset& data) {
  std::vector<std::vector<float>> rows;
  std::vector<int> labels;
  for (std::int64_t e = 0; e < data.train->size(); ++e) {
    rows.push_back(features(*data.train, e, data.shape.features()));
    labels.push_back(data.train->label(e));
  }
  return nearest_accuracy(data, rows, labels);
}

}  // namespace

TEST_CASE("Every catalogued data set has a distinct name and can be found by it") {
  std::set<std::string_view> names;
  for (const DatasetEntry& entry : dataset_catalog()) {
    CHECK(names.insert(entry.name).second);
    CHECK(find_dataset(entry.name) == &entry);
    CHECK_FALSE(entry.summary.empty());
  }
  CHECK(names.size() >= 7);
  CHECK(find_dataset("no such set") == nullptr);
}

TEST_CASE("A synthetic data set is the same each time and changes with its seed") {
  for (const std::string& name : kSynthetic) {
    INFO(name);
    const nlohmann::json given{{"train", 23}, {"test", 7}};
    const Dataset a = load(name, given), b = load(name, given);
    const Dataset other = load(name, {{"train", 23}, {"test", 7}, {"seed", 1}});
    const DataInfo info = dataset(name).inspect(options_of(dataset(name), given));
    CHECK(info.train_size == 23);
    CHECK(info.test_size == 7);
    CHECK(info.shape.features() == a.shape.features());
    CHECK(a.train->size() == 23);
    CHECK(a.test->size() == 7);
    const std::int64_t size = a.shape.features();
    for (std::int64_t e = 0; e < 23; ++e) {
      CHECK(features(*a.train, e, size) == features(*b.train, e, size));
      CHECK(features(*a.train, e, size) != features(*other.train, e, size));
      CHECK(a.train->label(e) == b.train->label(e));
    }
    CHECK(features(*a.train, 0, size) != features(*a.test, 0, size));
  }
}

TEST_CASE("An example does not depend on how many others are drawn") {
  for (const std::string& name : kSynthetic) {
    INFO(name);
    const Dataset small = load(name, {{"train", 5}, {"test", 3}});
    const Dataset large = load(name, {{"train", 50}, {"test", 30}});
    const std::int64_t size = small.shape.features();
    CHECK(features(*small.train, 4, size) == features(*large.train, 4, size));
    CHECK(features(*small.test, 2, size) == features(*large.test, 2, size));
    CHECK(small.test->label(2) == large.test->label(2));
  }
}

TEST_CASE("Glyph classes are balanced and pixels span black to white") {
  const Dataset data = load("glyphs", {{"train", 600}, {"test", 100}});
  for (const std::int64_t count : class_counts(*data.train, 10)) CHECK(count == 60);
  const auto& images = dynamic_cast<const ByteImages&>(*data.train);
  double sum = 0, squares = 0;
  for (std::int64_t e = 0; e < images.size(); ++e) {
    const auto pixels = images.pixels(e);
    CHECK(*std::max_element(pixels.begin(), pixels.end()) > 128);
    CHECK(*std::min_element(pixels.begin(), pixels.end()) == 0);
    for (const float value : features(images, e, 784)) {
      sum += value;
      squares += double{value} * value;
    }
  }
  const double count = 600 * 784.0;
  CHECK(sum / count == Approx(0).margin(0.03));
  CHECK(squares / count == Approx(1).margin(0.05));
}

TEST_CASE("Without noise a glyph is ink on an empty ground, inside the image") {
  const Dataset data = load("glyphs", {{"train", 500}, {"test", 1}, {"noise", 0.0}});
  const auto& images = dynamic_cast<const ByteImages&>(*data.train);
  for (std::int64_t e = 0; e < images.size(); ++e) {
    const auto pixels = images.pixels(e);
    const auto ink = 784 - std::count(pixels.begin(), pixels.end(), 0);
    INFO("example " << e << ", digit " << images.label(e));
    CHECK(ink > 20);
    CHECK(ink < 400);
  }
}

TEST_CASE("Glyphs are beyond class means, but neighbours know better", "[release]") {
  const Dataset data = load("glyphs", {{"train", 2000}, {"test", 200}});
  const double linear = class_mean_accuracy(data), neighbour = neighbour_accuracy(data);
  CHECK(linear < 0.75);
  CHECK(linear > 0.2);
  CHECK(neighbour > linear + 0.1);
}

TEST_CASE("Gaussian clusters are apart by the separation asked for") {
  const nlohmann::json near{{"separation", 0.0}, {"train", 2000}, {"test", 500}};
  const nlohmann::json far{{"separation", 8.0}, {"train", 2000}, {"test", 500}, {"classes", 7}};
  CHECK(class_mean_accuracy(load("gaussian-mixture", near)) < 0.2);
  const Dataset data = load("gaussian-mixture", far);
  CHECK(class_mean_accuracy(data) > 0.98);
  CHECK(data.shape.classes == 7);
  for (const std::int64_t count : class_counts(*data.train, 7)) CHECK(std::abs(count - 286) <= 1);
}

TEST_CASE("The teacher uses every class, and label noise changes the stated share of labels") {
  const nlohmann::json clean{{"train", 4000}, {"test", 500}, {"classes", 5}};
  nlohmann::json noisy = clean;
  noisy["label_noise"] = 0.5;
  const Dataset a = load("teacher-student", clean), b = load("teacher-student", noisy);
  for (const std::int64_t count : class_counts(*a.train, 5)) CHECK(count > 200);
  int changed = 0;
  for (std::int64_t e = 0; e < 4000; ++e) changed += a.train->label(e) != b.train->label(e) ? 1 : 0;
  CHECK(changed == Approx(4000 * 0.5 * 0.8).margin(4 * std::sqrt(4000 * 0.4 * 0.6)));
  for (std::int64_t e = 0; e < 500; ++e) CHECK(a.test->label(e) == b.test->label(e));
}

TEST_CASE(
    "A mixture with several clusters of a class is no linear task, without noise a certain one") {
  const nlohmann::json many{{"classes", 3},   {"clusters_per_class", 20},
                            {"dimension", 8}, {"noise", 0.01},
                            {"train", 600},   {"test", 200}};
  const Dataset data = load("gaussian-mixture", many);
  CHECK(data.shape.classes == 3);
  CHECK(class_mean_accuracy(data) < 0.7);
  CHECK(neighbour_accuracy(data) > 0.99);
  // Data sets without the new keys are unchanged.
  const DatasetEntry& entry = dataset("gaussian-mixture");
  nlohmann::json old = options_of(entry, {{"train", 20}, {"test", 5}});
  const Dataset now = entry.load(old);
  old.erase("noise");
  old.erase("clusters_per_class");
  const Dataset then = entry.load(old);
  for (std::int64_t e = 0; e < 20; ++e)
    CHECK(features(*now.train, e, 32) == features(*then.train, e, 32));
}

}  // namespace acid::testing

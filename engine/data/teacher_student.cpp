#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "engine/data/splits.hpp"

namespace acid {
namespace {

constexpr auto kTeacherStudentFields = std::to_array<Field>({
    {"dimension", FieldType::integer, "32", "features of an example", 1, 1e6},
    {"hidden", FieldType::integer, "32", "hidden units of the teacher", 1, 1e6},
    {"classes", FieldType::integer, "10", "outputs of the teacher", 2, 10000},
    {"label_noise", FieldType::number, "0.0",
     "share of training labels replaced by a uniformly drawn class", 0, 1},
    {"train", FieldType::integer, "6000", "training examples", 1, 1e7},
    {"test", FieldType::integer, "1000", "test examples, never with label noise", 1, 1e7},
    {"seed", FieldType::integer, "0", "seed of teacher and examples; runs share them", 0},
});

// Label = argmax of W₂ tanh(W₁ x). An odd function of a symmetric x favours no class beyond the
// length of its row of W₂; without biases the classes stay roughly balanced.
class Teacher {
 public:
  Teacher(std::size_t dimension, std::size_t hidden, std::size_t classes, std::uint64_t key)
      : first_(hidden, std::vector<double>(dimension)),
        second_(classes, std::vector<double>(hidden)),
        activity_(hidden) {
    constexpr double kGain = 2;  // far enough for tanh to bend
    Stream stream(key);
    const double scale = kGain / std::sqrt(static_cast<double>(dimension));
    for (auto& row : first_)
      for (double& weight : row) weight = scale * stream.normal();
    for (auto& row : second_)
      for (double& weight : row) weight = stream.normal();
  }

  std::int32_t label(std::span<const float> x) {
    for (std::size_t unit = 0; unit < first_.size(); ++unit) {
      double sum = 0;
      for (std::size_t k = 0; k < x.size(); ++k) sum += first_[unit][k] * x[k];
      activity_[unit] = std::tanh(sum);
    }
    std::size_t best = 0;
    double best_output = -std::numeric_limits<double>::infinity();
    for (std::size_t output = 0; output < second_.size(); ++output) {
      double sum = 0;
      for (std::size_t unit = 0; unit < activity_.size(); ++unit)
        sum += second_[output][unit] * activity_[unit];
      if (sum > best_output) {
        best = output;
        best_output = sum;
      }
    }
    return static_cast<std::int32_t>(best);
  }

 private:
  std::vector<std::vector<double>> first_, second_;
  std::vector<double> activity_;
};

std::shared_ptr<const Split> draw_teacher_student_split(Teacher& teacher, const DataShape& shape,
                                                        double label_noise, std::uint64_t key,
                                                        std::int64_t size) {
  const auto count = static_cast<std::size_t>(size);
  const auto dimension = static_cast<std::size_t>(shape.features());
  std::vector<float> features(count * dimension);
  std::vector<std::int32_t> labels(count);
  for (std::size_t e = 0; e < count; ++e) {
    Stream stream(key, e);
    const std::span<float> x = std::span(features).subspan(e * dimension, dimension);
    for (float& value : x) value = static_cast<float>(stream.normal());
    const bool replaced = stream.uniform() < label_noise;
    const auto classes = static_cast<std::uint64_t>(shape.classes);
    labels[e] = replaced ? static_cast<std::int32_t>(stream.below(classes)) : teacher.label(x);
  }
  return std::make_shared<FloatRows>(std::move(features), std::move(labels));
}

DataInfo inspect_teacher_student(const nlohmann::json& options) {
  const auto dimension = static_cast<int>(integer(options, "dimension"));
  const auto classes = static_cast<int>(integer(options, "classes"));
  return {{1, 1, dimension, classes}, integer(options, "train"), integer(options, "test"), {}};
}

Dataset load_teacher_student(const nlohmann::json& options) {
  const DataInfo info = inspect_teacher_student(options);
  const auto seed = options.at("seed").get<std::uint64_t>();
  Teacher teacher(static_cast<std::size_t>(info.shape.features()),
                  static_cast<std::size_t>(integer(options, "hidden")),
                  static_cast<std::size_t>(info.shape.classes), data_key(seed, DataPart::task));
  return {info.shape,
          draw_teacher_student_split(teacher, info.shape, number(options, "label_noise"),
                                     data_key(seed, DataPart::train), info.train_size),
          draw_teacher_student_split(teacher, info.shape, 0, data_key(seed, DataPart::test),
                                     info.test_size),
          {}};
}

}  // namespace

/// Normal inputs labelled by a random two-layer network.
DatasetEntry dataset_teacher_student() {
  return {"teacher-student", "normal inputs labelled by a random two-layer network, no files",
          kTeacherStudentFields, inspect_teacher_student, load_teacher_student};
}

}  // namespace acid

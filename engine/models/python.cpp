#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/base/error.hpp"
#include "engine/models/layout.hpp"
#include "engine/models/process_task.hpp"
#include "engine/python/model_process.hpp"
#include "engine/worker/arena.hpp"

namespace acid {
namespace {

using nlohmann::json;

constexpr std::int64_t kRows = 8;  // of the first trial

/// A model's process that is tried before a run: one gradient and one evaluation of a few examples
/// of each of its own sets or, where acid has the data, of zeros.
class Trial {
 public:
  explicit Trial(const json& task) : task_(task), process_(task.at("model"), memory_, 1) {}

  ProcessModel describe() {
    const json told = process_.ask(start_request(task_.at("model"), memory_, 0, 1));
    ProcessModel model;
    process_.understand([&] {
      model.layout = layout_told(told);
      for (const auto& file : told.at("files")) model.files.push_back(file.at(0));
    });
    x_ = vector(model.layout.parameter_count());
    g_ = vector(model.layout.parameter_count());
    buffers_ = vector(model.layout.buffer_count());
    own_data_ = find_dataset(text(task_.at("dataset"), "kind"))->in_process;
    try {
      try_out();
    } catch (const ModelValuesError&) {  // the model may be unable to compute with zeros
      if (own_data_) throw;
    }
    model.outside = outside_;
    model.has_accuracy = has_accuracy_;
    return model;
  }

 private:
  Arena<float> vector(std::int64_t size) const {
    return Arena<float>(static_cast<std::size_t>(size), memory_);
  }
  template <class T>
  std::size_t at(const Arena<T>& values) const {
    return memory_.offset_of(values.data()).value_or(0);
  }

  void try_out() {
    json request = start_request(task_.at("model"), memory_, 0, 1);
    request["file"] = nullptr;
    const json& dataset = task_.at("dataset");
    request["data"] = own_data_
                          ? json{{"file", dataset.at("file")}, {"options", dataset.at("options")}}
                          : zeros(dataset);
    const json told = process_.ask(request);
    process_.understand([&] {
      train_size_ = told.at("train");
      test_size_ = told.at("test");
    });
    if (own_data_ && looks_at_classes(task_.at("partition"))) {
      const Arena<std::int64_t> labels(static_cast<std::size_t>(train_size_), memory_);
      process_.ask({{"do", "labels"}, {"at", at(labels)}});
    }
    process_.ask({{"do", "begin"}, {"x", at(x_)}, {"buffers", at(buffers_)}});
    const json& batch = task_.at("batch_size");
    const std::int64_t all = batch.is_number_integer() ? batch.get<std::int64_t>() : kRows;
    if (all > kRows) {
      try {
        return compute(kRows);
      } catch (const Error&) {  // some models have a fixed batch size
        if (process_.has_ended()) throw;
      }
    }
    compute(all);
  }

  json zeros(const json& dataset) {
    const DataShape shape = find_dataset(text(dataset, "kind"))->inspect(dataset).shape;
    inputs_ = vector(kRows * shape.features());
    labels_ = Arena<std::int64_t>(static_cast<std::size_t>(kRows * shape.labels()), memory_);
    const json part = {{"size", kRows}, {"inputs", at(inputs_)}, {"labels", at(labels_)}};
    return {{"shape", {shape.channels, shape.height, shape.width}},
            {"tokens", shape.tokens},
            {"train", part},
            {"test", part}};
  }

  void compute(std::int64_t rows) {
    Arena<std::int64_t> examples(static_cast<std::size_t>(rows), memory_);
    const auto take_first_of = [&](std::int64_t size) {
      for (std::int64_t row = 0; row < rows; ++row)
        examples.data()[row] = row % std::max<std::int64_t>(size, 1);
    };
    take_first_of(train_size_);
    json request = {{"do", "gradient"},  {"worker", 0},
                    {"step", 0},         {"seed", 0},
                    {"set", "train"},    {"rows", rows},
                    {"x", at(x_)},       {"examples", at(examples)},
                    {"g", at(g_)},       {"buffers", at(buffers_)},
                    {"check", own_data_}};
    const json told = process_.ask(request);
    process_.understand([&] {
      told.at("loss");  // an answer without it is not to this request: the model wrote it
      outside_ = told.value("outside", outside_);
    });
    request["do"] = "evaluate";
    json evaluated = process_.ask(request);
    if (own_data_) {
      take_first_of(test_size_);
      request["set"] = "test";
      evaluated = process_.ask(request);
    }
    process_.understand([&] { has_accuracy_ = !evaluated.at("correct").is_null(); });
  }

  const json& task_;
  const SharedMemory memory_;
  ModelProcess process_;
  bool own_data_ = false;
  std::int64_t train_size_ = 0, test_size_ = 0;
  std::vector<std::string> outside_;
  bool has_accuracy_ = true;  // as far as it is known
  Arena<float> x_, g_, buffers_, inputs_;
  Arena<std::int64_t> labels_;
};

}  // namespace

ModelEntry python_model() {
  return {.name = "python",
          .summary = "what a Python file computes in a process of its own: PyTorch, NumPy, JAX",
          .fields = kProcessFields,
          .build = nullptr,
          .describe = [](const json& task) { return Trial(task).describe(); }};
}

}  // namespace acid

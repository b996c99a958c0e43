#include "worker/export.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "engine/base/digest.hpp"
#include "engine/checkpoint/safetensors_file.hpp"
#include "engine/data/labelled_arrays.hpp"
#include "engine/environment/build_info.hpp"
#include "engine/models/model.hpp"
#include "exports/final_model.hpp"
#include "settings/run_settings.hpp"
#include "store/files.hpp"

namespace acid {
namespace {

using nlohmann::json;

const DatasetEntry& dataset_of(const RunDetail& run, const TaskSettings& task) {
  require_model(run);
  const std::string kind = text(task.dataset, "kind");
  const DatasetEntry* entry = find_dataset(kind);
  ACID_ASSERT(entry != nullptr, "data set {}", kind);
  return *entry;
}

// The values of a model's tensors, found by name, as one flat vector in the layout's order.
std::vector<float> read_tensors(const SafetensorsFile& file,
                                const std::vector<LayoutTensor>& tensors, std::int64_t size) {
  std::vector<float> values(static_cast<std::size_t>(size));
  for (const LayoutTensor& tensor : tensors) {
    const Segment& segment = tensor.segment;
    const auto found = file.tensors().find(segment.name);
    if (found == file.tensors().end() || found->second.type != TensorType::f32 ||
        found->second.shape != segment.shape)
      throw BadSafetensors(fmt::format("it has no tensor {} as the model has it", segment.name));
    const auto part = std::span(values).subspan(static_cast<std::size_t>(segment.offset),
                                                static_cast<std::size_t>(segment.size));
    file.read_at(found->second.begin, std::as_writable_bytes(part));
  }
  return values;
}

// A module evaluates, so it needs buffers; the mean has none when every worker keeps its own.
void require_buffers(const RunDetail& run, const TaskSettings& task, const Layout& layout) {
  if (layout.buffers.empty() || task.average_buffers || run.summary.workers == 1) return;
  throw UsageError(
      fmt::format("run {} has task.buffers = \"local\": its final model, the mean of the workers, "
                  "has no batch-norm statistics, each worker has its own; '--format safetensors' "
                  "exports its parameters, and a run with buffers = \"average\" has a module",
                  run.summary.id));
}

// The shortest decimal, 0.1307, not the double nearest to the float.
json decimal(float value) { return json::parse(fmt::format("{}", value)); }

// How features were made of what is stored; null: they are the numbers that are stored.
json normalisation_of(const DatasetEntry& dataset, const json& options, const DataInfo& data) {
  std::vector<ChannelStatistics> statistics(dataset.normalisation.begin(),
                                            dataset.normalisation.end());
  if (options.contains("mean") && !(options["mean"].is_null() && options["deviation"].is_null()))
    statistics = statistics_of(options, data.shape.channels);
  const bool are_bytes = data.are_bytes || !dataset.normalisation.empty();
  const std::string stored = are_bytes ? "byte / 255" : "number";
  if (statistics.empty()) return are_bytes ? json{{"formula", stored}} : json(nullptr);
  json means = json::array(), deviations = json::array();
  for (const auto [mean, deviation] : statistics) {
    means.push_back(decimal(mean));
    deviations.push_back(decimal(deviation));
  }
  return {{"formula", fmt::format("({} - mean) / deviation, by channel", stored)},
          {"mean", means},
          {"deviation", deviations}};
}

json input_of(const DataShape& shape) {
  if (shape.tokens) return {shape.width};
  return {shape.channels, shape.height, shape.width};
}

json about_module(const RunDetail& run, const json& model, const DatasetEntry& dataset,
                  const json& options, const DataInfo& data, const AttemptResult::Artifact& mean) {
  return {{"acid_version", build_info().version},
          {"run", run.summary.id},
          {"run_digest", run.summary.digest},
          {"final_mean_sha256", mean.sha256},
          {"model", model},
          {"data_set", dataset.name},
          {"input", input_of(data.shape)},
          {"classes", data.shape.classes},
          {"normalisation", normalisation_of(dataset, options, data)}};
}

void print_bytes(std::span<const std::byte> bytes) {
  std::cout.write(reinterpret_cast<const char*>(bytes.data()), std::ssize(bytes));
}

Exit finish_output() {
  if (!std::cout.flush()) throw Error("cannot write to standard output");
  return Exit::ok;
}

// The file may be elsewhere by now, but its content is part of the result.
void require_recorded_files(const RunDetail& run, const Dataset& data) {
  std::vector<std::string> then, now;
  for (const auto& [path, sha256] : run.file_digests) then.push_back(sha256);
  for (const FileDigest& file : data.files) now.push_back(file.sha256);
  std::ranges::sort(then);
  std::ranges::sort(now);
  if (!std::ranges::includes(then, now))  // a graph and a module have files, too
    throw UsageError(
        fmt::format("the files of the data set are not those that run {} had; 'acid show {}' lists "
                    "their digests: put those files back",
                    run.summary.id, run.summary.id));
}

// The exported module is the file whose values were trained, so it must be the recorded one.
void require_recorded_module(const RunDetail& run, const std::string& path) {
  std::error_code error;
  const std::string now = std::filesystem::exists(path, error) ? sha256_file(path) : "";
  for (const auto& [file, sha256] : run.file_digests)
    if (sha256 == now) return;
  throw UsageError(fmt::format(
      "{} is not the file that run {} trained: put it back, or export its tensors with '--format "
      "safetensors'",
      path, run.summary.id));
}

}  // namespace

Exit print_torchscript(const std::string& store_folder, const std::string& run_id) {
  const Store store(store_folder, Store::Access::read);
  const RunDetail run = run_detail(store, run_id);
  const TaskSettings task = task_from(run.settings);
  const DatasetEntry& dataset = dataset_of(run, task);
  const AttemptResult::Artifact mean = final_mean_of(run);
  const DataInfo data = dataset.inspect(task.dataset);
  const DataShape& shape = data.shape;
  const ModelEntry& entry = *find_model(text(task.model, "kind"));
  if (entry.describe != nullptr)
    throw UsageError(fmt::format(
        "the model of run {} is {}, which acid cannot write as TorchScript: '--format safetensors' "
        "exports its tensors under their names, for load_state_dict() of the module",
        run_id, text(task.model, "file")));
  if (entry.read != nullptr) require_recorded_module(run, text(task.model, "path"));
  const Layout layout = entry.layout(task.model, shape);
  require_buffers(run, task, layout);
  const std::string path = checked_path(store, mean.path);
  std::vector<float> parameters, buffers;
  try {
    const SafetensorsFile file(path, mean.sha256);
    parameters = read_tensors(file, layout.parameters, layout.parameter_count());
    buffers = read_tensors(file, layout.buffers, layout.buffer_count());
  } catch (const BadSafetensors& error) {
    throw StoreError(
        fmt::format("{}, the final model of run {}, is damaged: {}; run the recipe "
                    "again with --force",
                    path, run_id, error.what()));
  }
  const std::string file = load_model_runtime().torchscript(
      task.model, shape, parameters, buffers,
      about_module(run, task.model, dataset, task.dataset, data, mean));
  print_bytes(std::as_bytes(std::span(file)));
  return finish_output();
}

Exit print_test_set(const std::string& store_folder, const std::string& run_id) {
  const RunDetail run = run_detail(Store(store_folder, Store::Access::read), run_id);
  const TaskSettings task = task_from(run.settings);
  const DatasetEntry& dataset = dataset_of(run, task);
  const Dataset data = dataset.load(task.dataset);
  if (!run.attempts.empty()) require_recorded_files(run, data);
  const DataShape& shape = data.shape;
  const std::int64_t rows = data.test->size();
  std::vector<std::int64_t> input_shape = input_of(shape), target_shape{rows};
  input_shape.insert(input_shape.begin(), rows);
  if (shape.tokens) target_shape.push_back(shape.labels());
  // The integers come first: after a header that is padded to 8 bytes they are aligned.
  const std::string header = safetensors_header(
      {{"acid_run", run_id}, {"data_set", std::string(dataset.name)}, {"split", "test"}},
      {{"targets", {TensorType::i64, target_shape, 0, 0}},
       {"inputs", {TensorType::f32, input_shape, 0, 0}}});
  print_bytes(std::as_bytes(std::span(header)));
  std::vector<std::int64_t> targets(static_cast<std::size_t>(shape.labels()));
  for (std::int64_t row = 0; row < rows; ++row) {
    data.test->copy_labels(row, targets);
    print_bytes(std::as_bytes(std::span(targets)));
  }
  std::vector<float> features(static_cast<std::size_t>(shape.features()));
  for (std::int64_t row = 0; row < rows && std::cout; ++row) {
    data.test->copy_features(row, features);
    print_bytes(std::as_bytes(std::span(features)));
  }
  return finish_output();
}

}  // namespace acid

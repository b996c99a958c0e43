#include "recipes/facts.hpp"

#include <algorithm>
#include <filesystem>

#include "engine/base/digest.hpp"
#include "engine/base/regular_file.hpp"
#include "engine/data/analytic.hpp"
#include "engine/data/dataset.hpp"
#include "engine/data/image_list.hpp"
#include "engine/models/layout.hpp"

namespace acid {
namespace {

constexpr int kClassesOfAnalytic = 2;  // of analytic tasks with examples

template <class Map, class Make>
const typename Map::mapped_type& once(Map& known, const typename Map::key_type& key, Make make) {
  const auto found = known.find(key);
  return found != known.end() ? found->second : known.emplace(key, make()).first->second;
}

/// A failure is kept and thrown again, so that its message is reported once.
template <class Failed, class Make>
auto tried(Failed& failed, const nlohmann::json& key, Make make) {
  if (const auto found = failed.find(key); found != failed.end())
    std::rethrow_exception(found->second);
  try {
    return make();
  } catch (...) {
    failed[key] = std::current_exception();
    throw;
  }
}

}  // namespace

const Facts::Task& Facts::dataset(const nlohmann::json& options) {
  return once(datasets_, options, [&] {
    const std::string kind = text(options, "kind");
    if (const AnalyticEntry* analytic = find_analytic(kind))
      return Task{analytic->inspect(options), kClassesOfAnalytic};
    const DatasetEntry& entry = *find_dataset(kind);
    Task task{tried(failed_, options, [&] { return entry.inspect(options); })};
    task.classes = entry.in_process || task.shape.tokens ? 0 : task.shape.classes;
    return task;
  });
}

const Facts::Model& Facts::model(const nlohmann::json& task) {
  const nlohmann::json &model = task.at("model"), &dataset = task.at("dataset");
  const nlohmann::json key = {model, dataset, looks_at_classes(task.at("partition"))};
  return once(models_, key, [&] {
    const ModelEntry* entry = find_model(text(model, "kind"));
    const ProcessModel found =
        entry->describe != nullptr
            ? tried(failed_, key, [&] { return entry->describe(task); })
            : ProcessModel{entry->layout(model, this->dataset(dataset).shape), {}};
    std::vector<std::string> tensors;
    for (const LayoutTensor& tensor : found.layout.parameters)
      tensors.push_back(tensor.segment.name);
    return Model{found.layout.parameter_count(),
                 found.layout.buffer_count(),
                 std::ranges::all_of(
                     found.layout.parameters,
                     [](const LayoutTensor& tensor) { return tensor.segment.shape.size() < 2; }),
                 std::move(tensors),
                 found.files,
                 found.outside,
                 found.has_accuracy};
  });
}

const Topology& Facts::topology(int workers, const nlohmann::json& options) {
  return once(topologies_, {workers, options}, [&] { return make_topology(workers, options); });
}

const Spectral& Facts::spectral(int workers, const nlohmann::json& topology_options, double rate) {
  return once(spectra_, {workers, topology_options, rate},
              [&] { return acid::spectral(topology(workers, topology_options), rate); });
}

const ScheduleNumbers& Facts::schedule(int workers, const nlohmann::json& options) {
  return once(schedules_, {workers, options},
              [&] { return schedule_numbers(*topology(workers, options).schedule(), workers); });
}

int Facts::largest_group(int workers, const nlohmann::json& options) {
  return once(largest_groups_, {workers, options}, [&] {
    const Topology& graph = topology(workers, options);
    if (graph.schedule()) return acid::largest_group(*graph.schedule());
    // The exchange is along all edges of a graph that hangs together.
    return graph.edge_count() == std::int64_t{workers} * (workers - 1) / 2 ? workers : 0;
  });
}

const MixingNumbers& Facts::mixing(int workers, const nlohmann::json& options, bool uniform) {
  return once(mixings_, {workers, options, uniform}, [&] {
    const Topology& graph = topology(workers, options);
    if (graph.schedule()) return mixing_numbers(schedule(workers, options));
    if (workers > kMostMixingWorkers) return mixing_numbers(ScheduleNumbers{});
    return mixing_numbers(uniform ? uniform_weights(graph) : metropolis_weights(graph));
  });
}

const std::string& Facts::file_digest(const std::string& path) {
  return once(digests_, path, [&] {
    const bool is_folder = type_of_file(path) == std::filesystem::file_type::directory;
    return is_folder ? image_folder_digest(path) : sha256_file(path);
  });
}

}  // namespace acid

#pragma once

#include <cstdint>
#include <exception>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/data/dataset.hpp"
#include "engine/topology/schedule_numbers.hpp"
#include "engine/topology/spectral.hpp"
#include "engine/topology/topology.hpp"

namespace acid {

/// Facts about data, models and graphs that the compiler needs. Each is computed once for all runs
/// of a sweep. Arguments are resolved options; all functions throw what the catalog entries throw.
/// Not thread-safe.
class Facts {
 public:
  /// What is known of a task's data. train_size 0: epochs have no meaning.
  struct Task : DataInfo {
    int classes = 0;  // by which examples are dealt to workers; 0: unknown before the run
  };
  const Task& dataset(const nlohmann::json& options);
  struct Model {
    std::int64_t parameters = 0, buffers = 0;
    bool all_one_dimensional = false;    // every tensor of parameters is a vector
    std::vector<std::string> tensors;    // names of its parameters
    std::vector<std::string> files;      // of the user's Python program
    std::vector<std::string> outside{};  // shapes of parameters outside the module, never trained
    bool has_accuracy = true;            // false: its evaluation counts nothing
  };
  /// The model of a task on its data set.
  const Model& model(const nlohmann::json& task);
  const Topology& topology(int workers, const nlohmann::json& options);
  /// workers ≥ 2, rate > 0.
  const Spectral& spectral(int workers, const nlohmann::json& topology, double rate);
  /// For a graph that changes.
  const ScheduleNumbers& schedule(int workers, const nlohmann::json& topology);
  /// Of workers that all hear each other: acid::largest_group() of the graph's exchanges.
  int largest_group(int workers, const nlohmann::json& topology);
  /// For the weights of a method of rounds; workers ≥ 2.
  const MixingNumbers& mixing(int workers, const nlohmann::json& topology, bool uniform);
  /// SHA-256 of a file's content, or of a folder of images (image_folder_digest).
  const std::string& file_digest(const std::string& path);

 private:
  std::map<nlohmann::json, Task> datasets_;
  std::map<nlohmann::json, Model> models_;
  std::map<nlohmann::json, Topology> topologies_;
  std::map<nlohmann::json, Spectral> spectra_;
  std::map<nlohmann::json, ScheduleNumbers> schedules_;
  std::map<nlohmann::json, int> largest_groups_;
  std::map<nlohmann::json, MixingNumbers> mixings_;
  std::map<std::string, std::string> digests_;
  std::map<nlohmann::json, std::exception_ptr> failed_;  // by data set or model
};

}  // namespace acid

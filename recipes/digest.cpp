#include "recipes/digest.hpp"

#include <filesystem>

#include "engine/algorithms/method.hpp"
#include "engine/base/digest.hpp"
#include "engine/data/analytic.hpp"
#include "engine/data/dataset.hpp"
#include "engine/models/layout.hpp"
#include "recipes/execution_mpi.hpp"

namespace acid {
namespace {

template <class Entry>
std::span<const Field> fields_of(std::span<const Entry> catalog, const nlohmann::json& options) {
  if (!options.is_object()) return {};
  for (const Entry& entry : catalog)
    if (entry.name == options.at("kind").get<std::string>()) return entry.fields;
  return {};
}

bool names_file(const Field& field, const nlohmann::json& options) {
  const bool can = field.type == FieldType::file || field.type == FieldType::edges;
  return can && options.at(std::string(field.name)).is_string();
}

// `data_files` are what the data set reads; they stand for a folder.
void replace_paths(nlohmann::json& options, std::span<const Field> fields,
                   const std::vector<std::string>& data_files, Facts& facts) {
  for (const Field& field : fields) {
    if (!names_file(field, options)) continue;
    nlohmann::json& value = options[std::string(field.name)];
    const std::string path = value.get<std::string>();
    nlohmann::json content = nlohmann::json::object();
    if (std::filesystem::is_directory(path))
      for (const std::string& file : data_files)
        content[std::filesystem::path(file).filename().string()] = facts.file_digest(file);
    else
      content["sha256"] = facts.file_digest(path);
    value = content;
  }
}

}  // namespace

nlohmann::json without_paths(const nlohmann::json& settings, Facts& facts) {
  nlohmann::json canonical = settings;
  // How a run is saved, placed, watched over and proven changes nothing that is computed: a run
  // stays the same run when these change. What stood in digests before it could be chosen stays in
  // them.
  canonical.erase("checkpoint");
  canonical.at("execution").erase("max_restarts");
  forget_placement(canonical);
  canonical.at("record")["events"] = true;
  const auto replace = [&](nlohmann::json& options, std::span<const Field> fields,
                           const std::vector<std::string>& data_files = {}) {
    replace_paths(options, fields, data_files, facts);
  };
  nlohmann::json& task = canonical.at("task");
  nlohmann::json& dataset = task.at("dataset");
  const std::vector<std::string> files = facts.dataset(settings.at("task").at("dataset")).files;
  replace(dataset, fields_of(dataset_catalog(), dataset), files);
  replace(dataset, fields_of(analytic_catalog(), dataset), files);
  replace(task.at("model"), fields_of(model_catalog(), task.at("model")));
  replace(task.at("partition"), fields_of(partition_catalog(), task.at("partition")));
  nlohmann::json& topology = canonical.at("topology");
  replace(topology, fields_of(topology_catalog(), topology));
  nlohmann::json& algorithm = canonical.at("algorithm");
  replace(algorithm, fields_of(algorithm_catalog(), algorithm));
  return canonical;
}

std::string canonical_digest(const nlohmann::json& value) {
  return sha256_hex(value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

}  // namespace acid

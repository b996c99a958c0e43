#include "recipes/path_fields.hpp"

#include <span>
#include <string>

#include "engine/data/analytic.hpp"
#include "engine/data/dataset.hpp"
#include "engine/methods/method.hpp"
#include "engine/models/layout.hpp"
#include "engine/topology/topology.hpp"

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

// Calls `look_at` with each table of a catalog's kinds and its fields.
template <class Look>
void for_each_kinded(nlohmann::json& settings, const Look& look_at) {
  nlohmann::json& task = settings.at("task");
  nlohmann::json& dataset = task.at("dataset");
  look_at(dataset, fields_of(dataset_catalog(), dataset));
  look_at(dataset, fields_of(analytic_catalog(), dataset));
  look_at(task.at("model"), fields_of(model_catalog(), task.at("model")));
  look_at(task.at("partition"), fields_of(partition_catalog(), task.at("partition")));
  nlohmann::json& topology = settings.at("topology");
  look_at(topology, fields_of(topology_catalog(), topology));
  nlohmann::json& algorithm = settings.at("algorithm");
  look_at(algorithm, fields_of(algorithm_catalog(), algorithm));
}

}  // namespace

void for_each_path(nlohmann::json& settings,
                   const std::function<void(nlohmann::json& path)>& visit) {
  for_each_kinded(settings, [&](nlohmann::json& options, std::span<const Field> fields) {
    for (const Field& field : fields)
      if (names_file(field, options)) visit(options[std::string(field.name)]);
  });
}

void forget_placement_fields(nlohmann::json& settings) {
  for_each_kinded(settings, [](nlohmann::json& options, std::span<const Field> fields) {
    for (const Field& field : fields)
      if (field.placement) options.erase(std::string(field.name));
  });
}

}  // namespace acid

#include "recipes/path_fields.hpp"

#include <algorithm>
#include <string>

#include "settings/run_settings.hpp"

namespace acid {
namespace {

// Calls `visit` with the options and each field of the table, and of the tables in it.
template <class Visit>
void for_each_field(const FieldTable& table, nlohmann::json& options, const Visit& visit) {
  if (!options.is_object()) return;
  const auto visit_all = [&](std::span<const Field> fields) {
    for (const Field& field : fields) {
      visit(options, field);
      const auto below = options.find(std::string(field.name));
      if (field.type == FieldType::section && below != options.end())
        for_each_field(*field.table, *below, visit);
    }
  };
  visit_all(table.fields);
  if (table.kinds == nullptr) return;
  for (const FieldTable::Kind& kind : table.kinds())
    if (kind.name == options.at("kind").get<std::string>()) visit_all(kind.fields);
}

void visit_paths(const FieldTable& table, nlohmann::json& options,
                 const std::function<void(nlohmann::json& path)>& visit) {
  for_each_field(table, options, [&](nlohmann::json& in, const Field& field) {
    if (field.type != FieldType::file && field.type != FieldType::edges) return;
    const auto value = in.find(std::string(field.name));
    if (value != in.end() && value->is_string()) visit(*value);
  });
}

}  // namespace

void for_each_path(nlohmann::json& settings,
                   const std::function<void(nlohmann::json& path)>& visit) {
  visit_paths(run_table(), settings, visit);
}

void for_each_data_path(nlohmann::json& dataset,
                        const std::function<void(nlohmann::json& path)>& visit) {
  visit_paths(*run_table().find("task")->table->find("dataset")->table, dataset, visit);
}

void forget_placement(nlohmann::json& settings) {
  for_each_field(run_table(), settings, [](nlohmann::json& options, const Field& field) {
    if (field.placement) options.erase(std::string(field.name));
  });
}

}  // namespace acid

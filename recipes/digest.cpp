#include "recipes/digest.hpp"

#include <filesystem>

#include "engine/base/digest.hpp"
#include "engine/data/dataset.hpp"
#include "engine/models/layout.hpp"
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

// Removes the keys that do not affect a run's identity (Field::placement): where and how long.
void forget_placement(nlohmann::json& settings) {
  for_each_field(run_table(), settings, [](nlohmann::json& options, const Field& field) {
    if (field.placement) options.erase(std::string(field.name));
  });
}

// The user's own modules that a Python file imports belong to the run like the file.
template <class DigestOf>
void add_imports(nlohmann::json& canonical, const nlohmann::json& task, Facts& facts,
                 const DigestOf& digest_of) {
  const auto add = [&](const char* section, const std::vector<std::string>& files) {
    const std::filesystem::path main = files.empty() ? "" : files.front();
    for (const std::string& file : files)
      if (file != main)
        canonical.at(
            "task")[section]["imports"]
                   [std::filesystem::path(file).lexically_relative(main.parent_path()).string()] =
            digest_of(file);
  };
  const nlohmann::json &dataset = task.at("dataset"), &model = task.at("model");
  if (const DatasetEntry* entry = find_dataset(text(dataset, "kind")); entry && entry->in_process)
    add("dataset", facts.dataset(dataset).files);
  if (model.is_object() && find_model(text(model, "kind"))->describe != nullptr)
    add("model", facts.model(task).files);
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

nlohmann::json without_paths(const nlohmann::json& settings, Facts& facts,
                             std::map<std::string, std::string>* files_read) {
  const auto digest_of = [&](const std::string& path) {
    const std::string& digest = facts.file_digest(path);
    if (files_read != nullptr) files_read->emplace(path, digest);
    return digest;
  };
  nlohmann::json canonical = settings;
  // The event log changes no result. Digests contain `true`, as before it could be chosen.
  canonical.at("record")["events"] = true;
  // Only data sets read folders; a folder is digested as the files that are read in it.
  const std::vector<std::string> files = facts.dataset(settings.at("task").at("dataset")).files;
  for_each_path(canonical, [&](nlohmann::json& value) {
    const std::filesystem::path path = value.get<std::string>();
    nlohmann::json content = nlohmann::json::object();
    std::error_code ignored;  // reading the file below reports it
    if (std::filesystem::is_directory(path, ignored)) {
      for (const std::string& file : files) {
        const std::filesystem::path inside = std::filesystem::path(file).lexically_relative(path);
        // Files elsewhere have their own keys.
        if (*inside.begin() != "..") content[inside.string()] = digest_of(file);
      }
    } else {
      content["sha256"] = digest_of(path.string());
    }
    value = content;
  });
  add_imports(canonical, settings.at("task"), facts, digest_of);
  forget_placement(canonical);
  // A listing's name does not matter.
  nlohmann::json& algorithm = canonical.at("algorithm");
  if (algorithm.contains("listing")) algorithm.erase("kind");
  return canonical;
}

std::string digest_without_files(const nlohmann::json& settings) {
  nlohmann::json plan = settings;
  plan.at("record").erase("events");
  for_each_path(plan, [](nlohmann::json& path) { path = nullptr; });
  forget_placement(plan);
  return sha256_hex(plan.dump());
}

std::string canonical_digest(const nlohmann::json& value) {
  return sha256_hex(value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

}  // namespace acid

#include "recipes/digest.hpp"

#include <filesystem>

#include "engine/base/digest.hpp"
#include "engine/data/dataset.hpp"
#include "engine/models/layout.hpp"
#include "recipes/path_fields.hpp"

namespace acid {

namespace {

/// Digests of files, and the list of those that were read.
class Content {
 public:
  Content(Facts& facts, std::map<std::string, std::string>* files) : facts_(facts), files_(files) {}
  const std::string& of(const std::string& path) {
    const std::string& digest = facts_.file_digest(path);
    if (files_ != nullptr) files_->emplace(path, digest);
    return digest;
  }

 private:
  Facts& facts_;
  std::map<std::string, std::string>* files_;
};

// The user's own modules that a Python file imports belong to the run like the file.
void add_imports(nlohmann::json& canonical, const nlohmann::json& task, Facts& facts,
                 Content& content) {
  const auto add = [&](const char* section, const std::vector<std::string>& files) {
    const std::filesystem::path main = files.empty() ? "" : files.front();
    for (const std::string& file : files)
      if (file != main)
        canonical.at(
            "task")[section]["imports"]
                   [std::filesystem::path(file).lexically_relative(main.parent_path()).string()] =
            content.of(file);
  };
  const nlohmann::json &dataset = task.at("dataset"), &model = task.at("model");
  if (const DatasetEntry* entry = find_dataset(text(dataset, "kind")); entry && entry->in_process)
    add("dataset", facts.dataset(dataset).files);
  if (model.is_object() && find_model(text(model, "kind"))->describe != nullptr)
    add("model", facts.model(task).files);
}

}  // namespace

nlohmann::json without_paths(const nlohmann::json& settings, Facts& facts,
                             std::map<std::string, std::string>* files_read) {
  Content contents(facts, files_read);
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
        if (*inside.begin() != "..") content[inside.string()] = contents.of(file);
      }
    } else {
      content["sha256"] = contents.of(path.string());
    }
    value = content;
  });
  add_imports(canonical, settings.at("task"), facts, contents);
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

#pragma once

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "recipes/facts.hpp"

namespace acid {

/// Calls `visit` for every path in a run's settings: of file fields, and of edges fields that name
/// a file. `visit` may replace the value.
void for_each_path(nlohmann::json& settings,
                   const std::function<void(nlohmann::json& path)>& visit);
/// The same for a task's data set alone.
void for_each_data_path(nlohmann::json& dataset,
                        const std::function<void(nlohmann::json& path)>& visit);

/// The settings with each path replaced by the SHA-256 of the file's content, so that a moved file
/// is the same run and a changed one is not. A folder counts as the data set's files in it, by name
/// and content. `files`: receives path and SHA-256 of each. Throws Error if a file cannot be read.
nlohmann::json without_paths(const nlohmann::json& settings, Facts& facts,
                             std::map<std::string, std::string>* files = nullptr);

/// SHA-256 of the JSON with sorted keys and shortest numbers.
std::string canonical_digest(const nlohmann::json& value);

/// SHA-256 of the settings on which an attempt's result depends, without how often and where a run
/// is saved, recorded and restarted, and without its files, which have digests of their own.
std::string digest_without_files(const nlohmann::json& settings);

}  // namespace acid

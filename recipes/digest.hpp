#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "recipes/facts.hpp"

namespace acid {

/// The settings without paths: what a file field names is replaced by the SHA-256 of its content,
/// so that a moved file is the same run and a changed one is not. A folder counts as the data
/// set's files in it, by name and content. `files`: takes the path and the SHA-256 of each. Throws
/// Error when a file cannot be read.
nlohmann::json without_paths(const nlohmann::json& settings, Facts& facts,
                             std::map<std::string, std::string>* files = nullptr);

/// SHA-256 of the JSON with sorted keys and shortest numbers.
std::string canonical_digest(const nlohmann::json& value);

/// SHA-256 of the settings that an attempt's result depends on: not of how often a run is saved,
/// recorded and restarted, and where, nor of where its files lie and what they hold, which its
/// file digests tell.
std::string digest_without_files(const nlohmann::json& settings);

}  // namespace acid

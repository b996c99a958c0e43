#pragma once

#include <string>
#include <utility>
#include <vector>

#include "exports/crate.hpp"

namespace acid {

// For this folder only.

/// The content of a crate.
struct CrateContent {
  std::vector<RunDetail> runs;  // in the order in which they were named
  /// The experiments that ask for the runs, each with the path of its recipe in the crate.
  std::vector<std::pair<ExperimentRecord, std::string>> experiments;
  std::vector<std::size_t> experiment_of_run;  // index; past the end: none asks for it any more
  std::string compared;                        // names of what its tables compare, for a command
  bool claims = false;                         // the experiments claim something
  CrateStatement statement;
};

/// The builds of acid that executed attempts, each once.
CrateBuild build_of(const AttemptRow& attempt);
std::vector<CrateBuild> builds_of(const CrateContent& content);

/// ro-crate-metadata.json; `files`: all files but SHA256SUMS.
nlohmann::json crate_metadata(const CrateContent& content,
                              const std::map<std::string, StagedFile>& files);
/// REPRODUCE.md.
std::string crate_reproduce(const CrateContent& content);

}  // namespace acid

#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/terminal/commands.hpp"

namespace acid {

/// A run, or the part of it between two of its checkpoints, by their numbers in `acid show`.
struct VerifiedPart {
  std::string run;
  std::optional<int> from, until;  // absent: the beginning, the end
  double share = 1;                // of the run's work
};

struct VerifiedRuns {
  std::string output;    // as_json: what the last worker printed
  Exit exit = Exit::ok;  // the worst of the workers'
  std::size_t equal = 0;
  nlohmann::json documents = nlohmann::json::array();  // as_json: one for each part
  bool interrupted = false;
};

/// Executes these runs or parts again, one after another, and compares all digests. The workers'
/// words, and how far it is, go to this process's standard output and error; with `as_json` the
/// workers give documents instead.
VerifiedRuns verify_runs(const Session& session, const std::vector<VerifiedPart>& parts,
                         bool as_json);

}  // namespace acid

#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/terminal/commands.hpp"

namespace acid {

struct VerifyHow {
  std::optional<int> from;  // a checkpoint's number, of one run
  bool as_json = false;     // the workers' documents instead of their words
};

struct VerifiedRuns {
  Exit exit = Exit::ok;  // the worst of the workers'
  std::size_t equal = 0;
  nlohmann::json documents = nlohmann::json::array();  // as_json: one for each run
  bool interrupted = false;
};

/// Executes these runs again, one after another, and compares all digests. The workers' words, and
/// how far it is, go to this process's standard output and error.
VerifiedRuns verify_runs(const Session& session, const std::vector<std::string>& ids,
                         const VerifyHow& how);

}  // namespace acid

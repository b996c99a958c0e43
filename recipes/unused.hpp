#pragma once

#include <map>
#include <string>
#include <tuple>

#include "engine/methods/method.hpp"
#include "recipes/diagnostics.hpp"
#include "recipes/node.hpp"
#include "settings/run_settings.hpp"

namespace acid {

/// Finds keys that a recipe writes and that none of its runs looks at: what only some of its
/// algorithms, or points of its sweep, use is used. Defaults are nobody's mistake.
class UnusedKeys {
 public:
  /// What decides whether a run looks at a key.
  struct Run {
    const RunSettings& settings;
    const AlgorithmEntry& entry;
    const Method& method;
    const Topology& topology;
    bool has_buffers = false;  // batch-norm statistics
  };
  /// `tree` is what the run was resolved from.
  void look_at(const Node& tree, const Run& run);
  /// A warning for each of them, once every run has been looked at.
  void warn(Diagnostics& diagnostics) const;

 private:
  struct Finding {
    Place place;
    bool used = false;
    Problem problem;
  };
  void add(const std::string& path, const Place& place, const char* why_not);

  // By override, line, column and path: tables that --set creates stand where their keys do.
  std::map<std::tuple<int, int, int, std::string>, Finding> written_;
};

}  // namespace acid

#pragma once

#include <map>
#include <span>
#include <string>
#include <tuple>

#include "recipes/diagnostics.hpp"
#include "recipes/node.hpp"
#include "settings/use.hpp"

namespace acid {

/// Finds keys that a recipe writes and that none of its runs looks at: what only some of its
/// algorithms, or points of its sweep, use is used. Defaults are nobody's mistake.
class UnusedKeys {
 public:
  /// `tree` is what the run was resolved from.
  void look_at(const Node& tree, const RunInUse& run);
  /// A warning for each of them, once every run has been looked at.
  void warn(Diagnostics& diagnostics) const;

 private:
  struct Finding {
    Place place;
    bool used = false;
    Problem problem;
  };
  void look_at(std::span<const Field> fields, const Node& table, const std::string& path,
               const RunInUse& run);
  void add(const std::string& path, const Place& place, const char* why_not);

  // By override, line, column and path: tables that --set creates stand where their keys do.
  std::map<std::tuple<int, int, int, std::string>, Finding> written_;
};

}  // namespace acid

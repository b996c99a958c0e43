#pragma once

#include <map>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "recipes/diagnostics.hpp"
#include "recipes/node.hpp"
#include "settings/use.hpp"

namespace acid {

/// Finds keys written in a recipe that none of its runs uses, with any algorithm or sweep point.
/// Defaults are not reported.
class UnusedKeys {
 public:
  /// The values of --set in these sections of the recipe, of which each should reach some run.
  void expect_overrides(const Node& root, const std::vector<std::string>& sections);
  /// `tree`: the recipe from which the run was resolved.
  void look_at(const Node& tree, const RunInUse& run);
  /// Warns of each unused key, after look_at() for every run. `swept`: the keys of [sweep].
  void warn(const std::vector<std::string>& swept, Diagnostics& diagnostics) const;

 private:
  struct Finding {
    Place place;
    bool used = false;
    Problem problem;
  };
  void look_at(std::span<const Field> fields, const Node& table, const std::string& path,
               const RunInUse& run);
  void add(const std::string& path, const Place& place, const char* why_not);
  void expect_overrides(const Node& given, const std::string& path);

  struct Override {
    std::string path;
    Place place;
    bool kept = false;  // by some run
  };
  std::vector<Override> overrides_;
  bool any_run_ = false;
  // By override, line, column and path: tables created by --set have the place of their keys.
  std::map<std::tuple<int, int, int, std::string>, Finding> written_;
};

}  // namespace acid

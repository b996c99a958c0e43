#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "recipes/checker.hpp"
#include "recipes/facts.hpp"
#include "recipes/machine_use.hpp"
#include "recipes/over.hpp"
#include "recipes/refused_cells.hpp"
#include "recipes/search.hpp"
#include "recipes/sections.hpp"
#include "recipes/unused.hpp"

namespace acid {

/// Turns a parsed recipe into a plan, and reports all mistakes. Used by load_recipe.cpp only.
class Compiler {
 public:
  /// `over`: nullptr for none; outlives this.
  Compiler(const std::string& path, const OverAxis* over, Diagnostics& diagnostics)
      : out_(diagnostics),
        over_(over),
        sections_(run_sections()),
        checker_(diagnostics, std::filesystem::path(path).parent_path()),
        machines_(std::filesystem::path(path).parent_path(), diagnostics) {}

  void compile(const Node& root, Plan& plan);

 private:
  void check_top(const Node& root);
  void require_showable(const Node& text, const char* key);
  void read_name(const Node& root, Plan& plan);
  void read_seeds(const Node& root);
  void check_labels(const Node& root);
  void warn_of_unused_methods(const Node& root, const Plan& plan);
  std::size_t runs_of_cell(std::size_t values) const;
  std::vector<SweepPoint> points_of(const Node* sweep);
  void compile_point(Node root, const SweepPoint& point, Plan& plan);
  void compile_algorithm(const Node& point, const Node& algorithm, std::size_t index, Plan& plan);
  std::vector<PlannedRun> runs_of(Node settings, Node algorithm, const std::string& label,
                                  std::span<const std::uint64_t> seeds,
                                  Diagnostics::Findings& refusals, double share = 1);
  bool is_refused(const Node& algorithm, const std::string& label, Diagnostics::Findings refusals);
  void compile_cell(const Node& settings, const Node& algorithm, const std::string& label,
                    std::size_t index, Plan& plan);
  bool has_equal_points(const std::vector<SweepPoint>& points, const Node& algorithm,
                        PlannedSearch& search);
  /// What a cell of a search may run.
  struct Tried {
    struct Rung {
      std::vector<std::string> groups;
      std::vector<PlannedRun> runs;
    };
    std::vector<std::string> groups;  // with the whole budget
    std::vector<PlannedRun> finals;
    std::vector<Rung> rungs;
  };
  void compile_value(const Node& settings, const Node& algorithm, const std::string& label,
                     const Place& place, PlannedSearch& search, Tried& cell,
                     Diagnostics::Findings& refusals);
  void check_length(const PlannedRun& run, double share);
  void count_gradients(const Tried& cell, PlannedSearch& search) const;
  void note_cell(const Node& algorithm, const std::string& group, std::size_t index,
                 Plan& plan) const;
  void add(std::vector<PlannedRun> runs, std::size_t index, const Place& place,
           std::vector<PlannedRun>& to);

  Diagnostics& out_;
  const OverAxis* over_;
  std::vector<std::string> sections_;
  Checker checker_;
  Machines machines_;
  Facts facts_;
  UnusedKeys unused_;
  std::vector<std::uint64_t> seeds_;
  std::optional<SearchTable> search_;
  const SweepPoint* point_ = nullptr;  // whose cells are compiled
  std::size_t value_ = 0;              // of `over_`, there
  RefusedCells refused_;
  bool skips_ = false;                    // refused cells are left out
  std::set<std::string> broken_methods_;  // of the recipe; their mistakes are reported already
  struct Owner {
    std::size_t algorithm;  // index of its [[algorithms]] entry
    std::size_t run;        // index in the list that it was added to
  };
  /// By the list of runs and the digest: a run may be one of several rungs.
  std::map<std::pair<const std::vector<PlannedRun>*, std::string>, Owner> owners_;
};

}  // namespace acid

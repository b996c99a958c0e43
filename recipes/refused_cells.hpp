#pragma once

#include <set>
#include <string>
#include <vector>

#include "recipes/diagnostics.hpp"
#include "recipes/plan.hpp"
#include "recipes/sweep.hpp"

namespace acid {

/// The cells of a sweep, an algorithm at a setting each, that have no mistake by themselves and
/// whose parts do not go together: a method and a graph, a codec, a number of workers. Mistakes in
/// what is written, such as an unknown key, refuse a recipe always and are none of this.
class RefusedCells {
 public:
  /// `findings`: the reasons, withdrawn from the recipe's diagnostics.
  void add(const SweepPoint& point, const Place& algorithm_place, std::string algorithm,
           std::string label, Diagnostics::Findings findings);
  /// How many different reasons there are.
  std::size_t reasons() const { return reasons_.size(); }

  /// `skip`: the cells are left out of the plan if others have runs, or mistakes. Otherwise their
  /// reasons become errors, which name the key where it would help. `sweep`: nullptr if there is
  /// none.
  void settle(const Node* sweep, bool skip, Plan& plan, Diagnostics& diagnostics) const;

 private:
  void leave_out(Plan& plan, Diagnostics& diagnostics) const;

  struct Cell {
    Place place;
    LeftOut left_out;
    Diagnostics::Findings findings;
  };
  std::vector<Cell> cells_;
  std::set<std::string> reasons_;
};

/// The values of a sweep's point by dotted key.
nlohmann::json settings_of(const SweepPoint& point);

/// Takes skip_inapplicable out of `sweep`; reports a value that is neither true nor false.
bool take_skip_inapplicable(Node& sweep, Diagnostics& diagnostics);

}  // namespace acid

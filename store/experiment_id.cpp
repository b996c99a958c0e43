#include "store/experiment_id.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "engine/base/digest.hpp"
#include "store/impl.hpp"
#include "store/select.hpp"

namespace acid {
namespace {

/// Runs by their place.
using Kept = std::map<std::int64_t, std::string>;

Kept kept_runs(const Store& store, const std::string& id, bool of_search) {
  Statement select(store.impl().connection(),
                   "SELECT m.position, r.digest FROM experiment_runs m"
                   " JOIN runs r ON r.number = m.run JOIN experiments e ON e.number = m.experiment"
                   " WHERE e.id = ? AND m.role = ?");
  Kept kept;
  for (select.bind(id, of_search ? "search" : ""); select.step();)
    kept[select.integer(0)] = select.text(1);
  return kept;
}

// What a search tries first is at its place; what follows depends on how that ended.
bool are_apart(const Kept& kept, const std::vector<std::string>& now, bool of_search) {
  const std::set<std::string> known(now.begin(), now.end());
  return std::ranges::any_of(kept, [&](const auto& one) {
    const bool follows = of_search && one.first >= std::ssize(now);
    return !follows && !known.contains(one.second);
  });
}

}  // namespace

std::string id_in(const Store& store, const ExperimentRecord& experiment,
                  const std::vector<std::string>& digests, bool of_search) {
  std::string all = experiment.recipe_digest;
  for (const std::string& digest : std::set<std::string>(digests.begin(), digests.end()))
    all += " " + digest;
  const std::string other = sha256_hex(all).substr(0, experiment.id.size());
  const bool is_other = are_apart(kept_runs(store, experiment.id, of_search), digests, of_search) ||
                        !kept_runs(store, other, of_search).empty();
  return is_other ? other : experiment.id;
}

}  // namespace acid

#include "store/experiment_id.hpp"

#include <algorithm>
#include <set>

#include "engine/base/digest.hpp"
#include "store/impl.hpp"
#include "store/select.hpp"

namespace acid {
namespace {

using Digests = std::set<std::string>;

Digests kept_runs(const Store& store, const std::string& id, bool of_search) {
  const auto runs = texts(store.impl().connection(),
                          "SELECT r.digest FROM experiment_runs m JOIN runs r ON r.number = m.run"
                          " JOIN experiments e ON e.number = m.experiment"
                          " WHERE e.id = ? AND m.role = ?",
                          id, of_search ? "search" : "");
  return {runs.begin(), runs.end()};
}

// A search finds out step by step what it tries, and some of that may have been removed.
bool are_apart(const Digests& kept, const Digests& now, bool of_search) {
  if (!of_search) return !std::ranges::includes(now, kept);
  return !kept.empty() && std::ranges::none_of(now, [&](const std::string& digest) {
    return kept.contains(digest);
  });
}

}  // namespace

std::string id_in(const Store& store, const ExperimentRecord& experiment,
                  const std::vector<RunRecord>& runs) {
  const bool of_search = std::ranges::any_of(runs, &RunRecord::is_search);
  Digests now;
  for (const RunRecord& run : runs)
    if (run.is_search == of_search) now.insert(run.digest);
  std::string all = experiment.recipe_digest;
  for (const std::string& digest : now) all += " " + digest;
  const std::string other = sha256_hex(all).substr(0, experiment.id.size());
  const bool is_other = are_apart(kept_runs(store, experiment.id, of_search), now, of_search) ||
                        !kept_runs(store, other, of_search).empty();
  return is_other ? other : experiment.id;
}

}  // namespace acid

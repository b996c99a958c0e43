#include "store/experiment_id.hpp"

#include <algorithm>
#include <set>

#include "engine/base/digest.hpp"
#include "store/impl.hpp"
#include "store/select.hpp"

namespace acid {
namespace {

// A search finds out step by step what it tries.
bool are_apart(const std::set<std::string>& kept, const std::set<std::string>& now,
               bool of_search) {
  return !std::ranges::includes(now, kept) && !(of_search && std::ranges::includes(kept, now));
}

}  // namespace

std::string id_in(const Store& store, const ExperimentRecord& experiment,
                  const std::vector<RunRecord>& runs) {
  const bool of_search = std::ranges::any_of(runs, &RunRecord::is_search);
  std::set<std::string> now;
  for (const RunRecord& run : runs)
    if (run.is_search == of_search) now.insert(run.digest);
  const auto kept = texts(store.impl().connection(),
                          "SELECT r.digest FROM experiment_runs m JOIN runs r ON r.number = m.run"
                          " JOIN experiments e ON e.number = m.experiment"
                          " WHERE e.id = ? AND m.role = ?",
                          experiment.id, of_search ? "search" : "");
  if (!are_apart({kept.begin(), kept.end()}, now, of_search)) return experiment.id;
  std::string all = experiment.recipe_digest;
  for (const std::string& digest : now) all += " " + digest;
  return sha256_hex(all).substr(0, experiment.id.size());
}

}  // namespace acid

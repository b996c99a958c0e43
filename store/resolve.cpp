#include <fmt/ranges.h>

#include <algorithm>

#include "engine/base/names.hpp"
#include "store/impl.hpp"
#include "store/queries.hpp"
#include "store/rows.hpp"

namespace acid {
namespace {

constexpr std::size_t kShownCandidates = 8;

std::string shortened_list(std::vector<std::string> names) {
  const std::size_t total = names.size();
  if (total > kShownCandidates) names.resize(kShownCandidates);
  return fmt::format(
      "{}{}", fmt::join(names, ", "),
      total > kShownCandidates ? fmt::format(" and {} more", total - names.size()) : "");
}

[[noreturn]] void nothing_matches(const Store& store, const std::string& name, const char* what) {
  const auto known = texts(store.impl().connection(),
                           "SELECT id FROM runs UNION ALL SELECT id FROM experiments"
                           " UNION ALL SELECT DISTINCT name FROM experiments");
  const auto nearest = nearest_name(name, known);
  throw UsageError(fmt::format(
      "no {} in the store {} matches '{}'{}; 'acid list' shows those it has", what, store.folder(),
      name, nearest ? fmt::format(" (did you mean '{}'?)", *nearest) : ""));
}

[[noreturn]] void not_unique(const std::string& name, std::vector<std::string> candidates) {
  throw UsageError(fmt::format("'{}' could be any of {}; give more of the id", name,
                               shortened_list(std::move(candidates))));
}

std::vector<std::string> with_prefix(const Connection& connection, const char* table,
                                     const std::string& prefix) {
  if (prefix.empty()) return {};
  const auto exact =
      texts(connection, fmt::format("SELECT id FROM {} WHERE id = ?", table), prefix);
  if (!exact.empty()) return exact;
  return texts(
      connection,
      fmt::format("SELECT id FROM {} WHERE substr(id, 1, length(?1)) = ?1 ORDER BY id", table),
      prefix);
}

std::vector<std::string> newest_experiment(const Connection& connection) {
  return texts(connection, "SELECT id FROM experiments ORDER BY number DESC LIMIT 1");
}

std::vector<std::string> newest_experiment_named(const Connection& connection,
                                                 const std::string& name) {
  return texts(connection, "SELECT id FROM experiments WHERE name = ? ORDER BY number DESC LIMIT 1",
               name);
}

AskedRuns runs_of(const Connection& connection, const std::string& experiment,
                  OfSearches searches) {
  const bool all = searches == OfSearches::with;
  AskedRuns asked(texts(connection,
                        "SELECT r.id FROM experiments e JOIN experiment_runs m"
                        " ON m.experiment = e.number JOIN runs r ON r.number = m.run"
                        " WHERE e.id = ?1 AND (?2 OR m.role = '') ORDER BY m.position",
                        experiment, static_cast<std::int64_t>(all)));
  if (asked.ids.empty() && !all)
    throw UsageError(fmt::format(
        "experiment {} has nothing to compare yet: its search has not chosen; 'acid run' of its "
        "recipe goes on with it, 'acid list' shows what it has tried",
        experiment));
  asked.experiments.push_back(experiment);
  return asked;
}

void add_once(std::vector<std::string>& all, const std::vector<std::string>& more) {
  for (const std::string& one : more)
    if (std::ranges::find(all, one) == all.end()) all.push_back(one);
}

std::string newest_of(const Store& store) {
  const auto newest = newest_experiment(store.impl().connection());
  if (newest.empty())
    throw UsageError(fmt::format(
        "the store {} holds no experiment yet; 'acid run RECIPE' makes one", store.folder()));
  return newest.front();
}

constexpr std::string_view kTagged = "tag:";

Named tagged(const Store& store, const std::string& tag) {
  const auto with = [&](const char* table, const char* kind) {
    return texts(store.impl().connection(),
                 fmt::format("SELECT o.id FROM {} o JOIN tags t ON t.kind = ?1 AND t.id = o.id"
                             " WHERE t.tag = ?2 ORDER BY o.number",
                             table),
                 kind, tag);
  };
  Named named{with("runs", "run"), with("experiments", "experiment")};
  if (named.runs.empty() && named.experiments.empty())
    throw UsageError(
        fmt::format("nothing in the store {} has the tag '{}'; 'acid list' shows the "
                    "tags of runs, 'acid list --experiments' those of experiments",
                    store.folder(), tag));
  return named;
}

Named resolve_one(const Store& store, const std::string& name) {
  const Connection& connection = store.impl().connection();
  if (name == "@latest") return {{}, {newest_of(store)}};
  if (name.starts_with(kTagged)) return tagged(store, name.substr(kTagged.size()));
  if (const auto named = newest_experiment_named(connection, name); !named.empty())
    return {{}, named};
  Named found{with_prefix(connection, "runs", name), with_prefix(connection, "experiments", name)};
  if (found.runs.empty() && found.experiments.empty())
    nothing_matches(store, name, "run or experiment");
  if (found.runs.size() + found.experiments.size() > 1) {
    std::vector<std::string> candidates = found.runs;
    add_once(candidates, found.experiments);
    not_unique(name, std::move(candidates));
  }
  return found;
}

AskedRuns runs_of(const Connection& connection, const Named& named, OfSearches searches) {
  AskedRuns all(named.runs);
  for (const std::string& experiment : named.experiments) {
    const AskedRuns one = runs_of(connection, experiment, searches);
    add_once(all.ids, one.ids);
    add_once(all.experiments, one.experiments);
  }
  return all;
}

}  // namespace

Named resolve_named(const Store& store, const std::vector<std::string>& names) {
  Named all;
  for (const std::string& name : names) {
    const Named one = resolve_one(store, name);
    add_once(all.runs, one.runs);
    add_once(all.experiments, one.experiments);
  }
  return all;
}

AskedRuns resolve_runs(const Store& store, const std::vector<std::string>& names,
                       OfSearches searches) {
  const Connection& connection = store.impl().connection();
  if (names.empty()) return runs_of(connection, newest_of(store), searches);
  AskedRuns all;
  for (const std::string& name : names) {
    const AskedRuns one = runs_of(connection, resolve_one(store, name), searches);
    add_once(all.ids, one.ids);
    add_once(all.experiments, one.experiments);
  }
  return all;
}

AskedRuns resolve_shown(const Store& store, const std::string& name) {
  if (name == "@latest") {
    const auto runs = list_runs(store);
    if (runs.empty())
      throw UsageError(fmt::format("the store {} holds no run yet; 'acid run RECIPE' makes some",
                                   store.folder()));
    return AskedRuns({runs.front().id});
  }
  // Only one run is wanted, so an experiment is considered only if no run's id begins like this.
  auto runs = with_prefix(store.impl().connection(), "runs", name);
  if (runs.size() > 1) not_unique(name, std::move(runs));
  if (!runs.empty()) return AskedRuns(runs);
  AskedRuns of_experiment =
      runs_of(store.impl().connection(), resolve_one(store, name), OfSearches::with);
  if (of_experiment.ids.empty()) nothing_matches(store, name, "run");
  return of_experiment;
}

std::string resolve_run(const Store& store, const std::string& name) {
  const AskedRuns asked = resolve_shown(store, name);
  if (asked.ids.size() > 1)
    throw UsageError(
        fmt::format("'{}' is an experiment of {} runs, and one run is wanted; 'acid "
                    "list {}' shows their ids",
                    name, asked.ids.size(), asked.experiments.front()));
  return asked.ids.front();
}

}  // namespace acid

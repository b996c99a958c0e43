#pragma once

#include <string>
#include <vector>

#include "exports/staged_folder.hpp"

namespace acid {

/// A build of acid: version, commit, digest of the changes in the working tree (empty: none).
struct CrateBuild {
  std::string version, commit, diff_sha256;
  bool operator==(const CrateBuild&) const = default;
};

/// What a crate can do without, since its runs, executed again, or its store give it.
struct CrateParts {
  bool models = true;  // files of final models
  bool tables = true;  // the report, metrics.csv, comparison.*, runs/, environments.json
};

/// What the maker of a crate says about it; empty: nothing is said.
struct CrateStatement {
  std::string author;   // a person's or a group's name
  std::string license;  // its address, such as https://creativecommons.org/licenses/by/4.0/
  CrateBuild acid;      // that makes the crate
  CrateParts parts;
};

/// Fills an empty folder with everything about some runs that a paper's reader needs, as a Process
/// Run Crate 0.6 (https://w3id.org/ro/wfrun/process/0.6) on RO-Crate 1.3. Claims are a test suite
/// in the terms of Workflow Testing RO-Crate 0.2 (https://w3id.org/ro/wftest/0.2); the crate
/// conforms to that profile where it has one recipe, the main workflow, and a licence.
///   ro-crate-metadata.json   JSON-LD: an action for each attempt, by which acid, on what, with
///                            which result; every file with its size and SHA-256
///   ro-crate-preview.html    the report
///   REPRODUCE.md             the commands that install this acid, run, verify and compare
///   acid-store/              a store of these runs alone (store/copy_runs.hpp): compare, report
///                            and verify work on it; the final models are in its checkpoints/
///   recipe.toml              or recipes/ID.toml, where the runs are of several experiments
///   runs/ID/run.json, settings.json   what acid show --json prints, and the settings alone
///   metrics.csv              every value, long form
///   comparison.json, .md     of all the runs but those that a search tried
///   claims.json              what the recipes claim, with the verdicts; absent if nothing
///   asked.json               experiments and runs in the order in which they were named, and what
///                            was left out (CrateParts)
///   environments.json        the machines and builds, and which attempts had which
///   SHA256SUMS               of all other files
/// All files show one moment, and equal content gives equal bytes. UsageError when none of the runs
/// has finished or one does not exist; StoreError and Error from the parts.
void fill_crate(const Store& store, const AskedRuns& asked, StagedFolder& folder,
                const CrateStatement& statement, const RunJson& run_json, const RunsDone& done);

inline constexpr const char* kCrateStore = "acid-store";  // folder in the crate

/// Adds what a crate repeats of its store, the files above from recipe.toml to environments.json.
/// `store`: that of the crate. `whole`: all of them; else the recipes and claims.json alone, which
/// every crate has.
void add_crate_tables(const Store& store, const AskedRuns& asked, StagedFolder& folder,
                      const RunJson& run_json, const RunsDone& done, bool whole = true);

}  // namespace acid

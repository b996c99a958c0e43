#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "store/files.hpp"
#include "store/maintenance.hpp"
#include "store/sqlite.hpp"
#include "store/store.hpp"

namespace acid {

// What the inspection, repair and garbage collection of maintenance.hpp share. For this folder
// only.

/// A row that names a file. Rows of checkpoints that were let go of are not included.
struct NamedFile {
  enum class Kind { checkpoint, model };
  Kind kind = Kind::checkpoint;
  std::int64_t id = 0;        // of the checkpoint, or of the model's attempt
  std::int64_t position = 0;  // of a model among its attempt's files
  std::int64_t number = 0;    // of a checkpoint in its run
  std::string run, title;     // "checkpoint 3 of run 1a2b3c4d5e6f"
  std::string path, sha256;   // the path as stored: see is_checkpoint_path()
  std::int64_t bytes = 0;
  bool superseded = false;
  bool live = false;      // a living process executes the run
  bool finished = false;  // the run has finished
};
std::vector<NamedFile> named_files(const sqlite::Connection& connection);

/// Files of checkpoints that were let go of although the run has not finished. Such a checkpoint
/// still counts, and so does its file if it has its recorded size. By path, the recorded sizes.
using SpareFiles = std::unordered_map<std::string, std::unordered_set<std::int64_t>>;
SpareFiles spare_files(const sqlite::Connection& connection);

/// A file without a row is an orphan only at this age: before, its writer may be about to name it.
inline constexpr double kOrphanAgeSeconds = 60;
/// Files that no row names and that are not spare. Files in the folder of a run that is being
/// executed belong to the run and are left out.
std::vector<Leftover> orphans(const std::vector<NamedFile>& named, const SpareFiles& spare,
                              const std::vector<ListedFile>& files,
                              const std::unordered_set<std::string>& live);

/// Files that rows name but that are not needed: see find_garbage().
std::vector<Leftover> unneeded_files(const std::string& folder, const std::vector<NamedFile>& named,
                                     const std::unordered_set<std::string>& live,
                                     bool keep_checkpoints);

/// Removes the names of those files that unneeded_files() still returns. Where the disk has no room
/// for that, deletes some of these files first.
void forget_unneeded(const std::string& folder, const sqlite::Connection& connection,
                     const std::vector<std::string>& paths);

/// Deletes those of `paths` that no row names, that are not spare and belong to no run that is
/// being executed. Holds the store's lock meanwhile, so that no run can begin. Returns the paths
/// that were deleted. When a file cannot be deleted, deletes the others and throws StoreError at
/// the end.
std::vector<std::string> remove_unnamed(const std::string& folder,
                                        const sqlite::Connection& connection,
                                        const std::vector<std::string>& paths);

/// Rewrites the database without its free pages, if there are enough of them and no other process
/// uses it. A store without a write-ahead log is left as it is while a living process executes runs
/// of it or goes on with some; then it returns words that say so.
std::string give_space_back(const std::string& folder, sqlite::Connection& connection);

/// What the given check (integrity_check or quick_check) says, a line each; empty: the database is
/// sound.
std::vector<std::string> damage(const sqlite::Connection& connection, const char* check);
/// Throws StoreError when the database is damaged: then its rows are no reason to delete files.
void refuse_if_damaged(const sqlite::Connection& connection, const char* check);

}  // namespace acid

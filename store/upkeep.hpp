#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "store/checkpoint_folder.hpp"
#include "store/sqlite.hpp"
#include "store/store.hpp"

namespace acid {

// What inspecting, mending and collecting garbage (maintenance.hpp) share. For this folder only.

/// A row that names a file; checkpoints that were let go of do not.
struct NamedFile {
  enum class Kind { checkpoint, model };
  Kind kind = Kind::checkpoint;
  std::int64_t id = 0;        // of the checkpoint; of the model's attempt
  std::int64_t position = 0;  // of a model among its attempt's files
  std::int64_t number = 0;    // of a checkpoint in its run
  std::string run, title;     // "checkpoint 3 of run 1a2b3c4d5e6f"
  std::string path, sha256;   // the path as it is stored: see is_checkpoint_path()
  std::int64_t bytes = 0;
  bool superseded = false;
  bool live = false;      // a living process executes the run
  bool finished = false;  // the run has
};
std::vector<NamedFile> named_files(const sqlite::Connection& connection);

/// Files of checkpoints that were let go of although the run has not finished: they still count,
/// and so may their files if they are found as they were written. By path the sizes they had.
using SpareFiles = std::unordered_map<std::string, std::unordered_set<std::int64_t>>;
SpareFiles spare_files(const sqlite::Connection& connection);

/// A file that may go.
struct Leftover {
  std::string path;
  std::string why;
  std::int64_t bytes = 0;
};

/// A file without a row is nobody's only when it has been there for so long: its writer may be
/// about to name it.
inline constexpr double kOrphanAgeSeconds = 60;
/// Files that no row names and that are not spare. Those in the folder of a run that is being
/// executed are its own.
std::vector<Leftover> orphans(const std::vector<NamedFile>& named, const SpareFiles& spare,
                              const std::vector<ListedFile>& files,
                              const std::unordered_set<std::string>& live);

/// Files that rows name but nobody needs: see find_garbage().
std::vector<Leftover> unneeded_files(const std::string& folder, const std::vector<NamedFile>& named,
                                     const std::unordered_set<std::string>& live,
                                     bool keep_checkpoints);

/// Takes back the names of those that unneeded_files() still gives. Where the disk has no room for
/// that, deletes some of these files first.
void forget_unneeded(const std::string& folder, const sqlite::Connection& connection,
                     const std::vector<std::string>& paths);

/// Deletes those of `paths` that no row names, that are not spare and belong to no run that is
/// being executed. Holds the store's lock meanwhile, which keeps runs from being taken up. Returns
/// the paths that were deleted. A file that cannot be deleted does not keep the others; then throws
/// StoreError at the end.
std::vector<std::string> remove_unnamed(const std::string& folder,
                                        const sqlite::Connection& connection,
                                        const std::vector<std::string>& paths);

/// What the given check (integrity_check or quick_check) says, a line each; empty: sound.
std::vector<std::string> damage(const sqlite::Connection& connection, const char* check);
/// Throws StoreError when the database is damaged: then what its rows say is no reason to delete.
void refuse_if_damaged(const sqlite::Connection& connection, const char* check);

}  // namespace acid

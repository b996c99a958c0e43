#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "store/store.hpp"

namespace acid {

// Inspection, repair and garbage collection of a store: `acid doctor --store` and `acid gc`.

/// Something that is not as it should be.
struct StoreFinding {
  std::string what;         // "checkpoint file without a row", with names
  std::string remedy;       // what repair_store() does about it, or what a person can do
  bool repairable = false;  // repair_store() mends it
};

/// Looks at everything: PRAGMA integrity_check and foreign_key_check, attempts that have neither
/// ended nor a living process (stale leases), checkpoint and model files that are missing, of the
/// wrong size or digest, files under checkpoints/ that no row names (orphans), temporary files left
/// by processes that are gone, series that disagree with their values (wrong_summaries()). Changes
/// nothing. Files younger than a minute are not called orphans: a writer may be about to name them.
/// Files of checkpoints that were let go of and that have their size are not called orphans as long
/// as the run may still need them, that is until it finishes or starts again.
std::vector<StoreFinding> inspect_store(const Store& store);

/// Mends what is repairable: ends stale attempts as interrupted, removes orphaned and temporary
/// files, marks checkpoints whose file is damaged as removed. A checkpoint whose file is missing
/// stays, since the file may be put back. Returns what it did, a line each. `store` must be open
/// for writing.
std::vector<std::string> repair_store(Store& store);

/// SHA-256 of what the store holds: runs with their attempts, values, events, checkpoints, results
/// and verifications, experiments, tags and notes, and whether their seals hold. Equal for stores
/// with the same content, whatever was merged in which order, and whatever `acid gc` has freed
/// (store/SCHEMA.md). Takes as long as reading the store.
std::string contents_digest(const Store& store);

/// A file, or the folder of a merge that was killed, that may be deleted.
struct Leftover {
  std::string path;  // relative to the store's folder
  std::string why;   // "checkpoint 3 of run 1a2b…, which has finished", "no row names it"
  std::int64_t bytes = 0;
};

/// Notes in the folder in which a new store is merged, `STORE.merging-PID`, that this process does
/// it. Throws StoreError.
void note_merging(const std::string& folder);
/// Takes the note away when the store is complete and has its name.
void forget_merging(const std::string& folder);
/// The folders of merges into a store with this name whose process is gone. That of a process that
/// cannot be seen from here, because it is on another host, does not count as gone.
std::vector<Leftover> dead_merges(const std::string& store_folder);
/// Deletes them.
void remove_dead_merges(const std::string& store_folder);

/// What `acid gc` would free.
struct Garbage {
  std::vector<Leftover> files;
  std::int64_t superseded_points = 0;  // rows of values that no command shows any more
  std::int64_t superseded_events = 0;
  bool empty() const { return files.empty() && superseded_points == 0 && superseded_events == 0; }
};

/// Superseded values, events and attempts' leftovers; checkpoint files of runs that have finished
/// (their digests and final models stay); orphaned and temporary files; dead_merges(). With
/// `keep_checkpoints` the checkpoint files of finished runs are not garbage. Runs that a living
/// process executes are left alone.
Garbage find_garbage(const Store& store, bool keep_checkpoints);

/// Removes the garbage and gives the space back to the file system. `store` must be open for
/// writing. Returns why the database keeps its size, if it does because of other processes at a
/// store without a write-ahead log.
std::string collect_garbage(Store& store, const Garbage& garbage);

}  // namespace acid

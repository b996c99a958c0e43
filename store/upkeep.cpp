#include "store/upkeep.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "store/impl.hpp"
#include "store/select.hpp"
#include "store/utc.hpp"

namespace acid {
namespace {

using Runs = std::unordered_set<std::string>;
using Paths = std::unordered_set<std::string>;

// For queries that join attempt a.
constexpr const char* kRunHasFinished =
    "coalesce((SELECT outcome FROM attempts WHERE run = a.run ORDER BY number DESC LIMIT 1) ="
    " 'finished', 0)";

constexpr std::size_t kFilesAtOnce = 64;  // while the store is locked

bool needed(const NamedFile& file, bool keep_checkpoints) {
  if (file.live) return true;
  if (file.superseded) return false;
  return file.kind == NamedFile::Kind::model || !file.finished || keep_checkpoints;
}

bool is_spare(const SpareFiles& spare, const std::string& path, std::int64_t bytes) {
  const auto sizes = spare.find(path);
  return sizes != spare.end() && sizes->second.count(bytes) > 0;
}

/// Deletes those of `paths` that are not needed, while no process can begin an attempt or name a
/// file. Adds to `removed`; returns the first failure.
std::string remove_some(const std::string& folder, const Connection& connection,
                        std::set<std::string> paths, std::vector<std::string>& removed) {
  const Transaction lock(connection, Transaction::Kind::write);  // nothing is written
  for (const NamedFile& file : named_files(connection)) paths.erase(file.path);
  const SpareFiles spare = spare_files(connection);
  const Runs live = live_runs(connection);
  std::string failure;
  for (const std::string& path : paths) {
    if (!is_checkpoint_path(path) || live.count(run_folder_of(path)) > 0) continue;
    if (is_spare(spare, path, look_at_file(folder, path).bytes)) continue;
    try {
      if (remove_file(folder, path)) removed.push_back(path);
    } catch (const StoreError& error) {
      if (failure.empty()) failure = error.what();
    }
  }
  return failure;
}

/// The files that `named` has, that are in `wanted` and that are not needed.
std::vector<Leftover> unneeded_among(const std::string& folder, const Connection& connection,
                                     std::vector<NamedFile> named, const Paths& wanted) {
  std::erase_if(named, [&](const NamedFile& file) { return wanted.count(file.path) == 0; });
  return unneeded_files(folder, named, live_runs(connection), false);
}

/// As forget_unneeded(); make_room() has deleted the files in `gone`.
void forget(const std::string& folder, const Connection& connection, const Paths& wanted,
            const Paths& gone) {
  Transaction transaction(connection, Transaction::Kind::write);
  const std::vector<NamedFile> named = named_files(connection);
  Paths unneeded = gone;
  for (const Leftover& file : unneeded_among(folder, connection, named, wanted))
    unneeded.insert(file.path);
  Statement checkpoint(connection, "UPDATE checkpoints SET removed = ? WHERE id = ?");
  Statement model(connection, "DELETE FROM artifacts WHERE attempt = ? AND position = ?");
  const std::string now = utc_now();
  for (const NamedFile& file : named) {
    if (unneeded.count(file.path) == 0) continue;
    if (file.kind == NamedFile::Kind::checkpoint)
      checkpoint.bind(now, file.id).run();
    else
      model.bind(file.id, file.position).run();
  }
  transaction.commit();
}

/// On a full disk no row can be changed before a file has gone. Deletes the largest unneeded file
/// while a row still names it. If the process is killed now, that row has no file; the row is
/// superseded or belongs to a finished run, so no command reads it. Returns nothing when no file is
/// left to delete.
std::optional<std::string> make_room(const std::string& folder, const Connection& connection,
                                     const Paths& wanted) {
  const Transaction lock(connection, Transaction::Kind::write);  // nothing is written
  const std::vector<Leftover> unneeded =
      unneeded_among(folder, connection, named_files(connection), wanted);
  const auto largest =
      std::max_element(unneeded.begin(), unneeded.end(),
                       [](const Leftover& a, const Leftover& b) { return a.bytes < b.bytes; });
  if (largest == unneeded.end() || !remove_file(folder, largest->path)) return std::nullopt;
  return largest->path;
}

}  // namespace

std::vector<NamedFile> named_files(const Connection& connection) {
  const Runs live = live_runs(connection);
  // Outer joins: a row whose run is missing still names its file. NOT INDEXED: so does one that a
  // damaged index lacks. The end of an attempt comes after all its ticks, so its models are
  // superseded with the first superseded tick.
  Statement select(
      connection,
      fmt::format(
          "SELECT 0, c.id, 0, coalesce(r.id, ''), c.number, '', c.path, c.sha256,"
          " c.file_bytes, c.superseded, {} FROM checkpoints c NOT INDEXED"
          " LEFT JOIN attempts a ON a.id = c.attempt"
          " LEFT JOIN runs r ON r.number = a.run WHERE c.removed IS NULL"
          " UNION ALL SELECT 1, f.attempt, f.position, coalesce(r.id, ''), a.number, f.role,"
          " f.path, f.sha256, f.bytes, a.valid_until_tick IS NOT NULL, 0 FROM artifacts f"
          " LEFT JOIN attempts a ON a.id = f.attempt"
          " LEFT JOIN runs r ON r.number = a.run WHERE f.removed IS NULL ORDER BY 1, 2, 3",
          kRunHasFinished));
  std::vector<NamedFile> files;
  while (select.step()) {
    NamedFile file;
    const bool is_model = select.integer(0) != 0;
    file.kind = is_model ? NamedFile::Kind::model : NamedFile::Kind::checkpoint;
    file.id = select.integer(1);
    file.position = select.integer(2);
    file.run = select.text(3);
    const std::int64_t number = select.integer(4);
    if (!is_model) file.number = number;
    file.title = is_model
                     ? fmt::format("{} of run {}, attempt {}", select.text(5), file.run, number)
                     : fmt::format("checkpoint {} of run {}", number, file.run);
    file.path = select.text(6);
    file.sha256 = select.text(7);
    file.bytes = select.integer(8);
    file.superseded = select.integer(9) != 0;
    file.finished = select.integer(10) != 0;
    file.live = live.count(file.run) > 0;
    files.push_back(std::move(file));
  }
  return files;
}

SpareFiles spare_files(const Connection& connection) {
  Statement select(connection,
                   fmt::format("SELECT c.path, c.file_bytes FROM checkpoints c"
                               " JOIN attempts a ON a.id = c.attempt"
                               " WHERE c.removed IS NOT NULL AND c.superseded = 0 AND NOT {}",
                               kRunHasFinished));
  SpareFiles spare;
  while (select.step()) spare[select.text(0)].insert(select.integer(1));
  return spare;
}

std::vector<Leftover> orphans(const std::vector<NamedFile>& named, const SpareFiles& spare,
                              const std::vector<ListedFile>& files, const Runs& live) {
  std::unordered_set<std::string> names;
  for (const NamedFile& file : named) names.insert(file.path);
  std::vector<Leftover> found;
  for (const auto& [path, look] : files) {
    if (look.is != FileLook::Is::plain || look.age_seconds < kOrphanAgeSeconds) continue;
    if (names.count(path) > 0 || live.count(run_folder_of(path)) > 0) continue;
    if (is_spare(spare, path, look.bytes)) continue;
    const bool temporary = path.size() > 4 && path.compare(path.size() - 4, 4, ".tmp") == 0;
    found.push_back({path,
                     temporary ? "temporary file of a process that is gone" : "no row names it",
                     look.bytes});
  }
  return found;
}

std::vector<Leftover> unneeded_files(const std::string& folder, const std::vector<NamedFile>& named,
                                     const Runs& live, bool keep_checkpoints) {
  // Several attempts may have written one file, one after the other, under one name.
  std::unordered_set<std::string> taken;
  for (const NamedFile& file : named)
    if (needed(file, keep_checkpoints)) taken.insert(file.path);
  std::vector<Leftover> found;
  for (const NamedFile& file : named) {
    if (!is_checkpoint_path(file.path) || live.count(run_folder_of(file.path)) > 0) continue;
    if (!taken.insert(file.path).second) continue;
    const FileLook look = look_at_file(folder, file.path);
    if (look.is != FileLook::Is::plain) continue;
    found.push_back({file.path,
                     fmt::format("{}, which {}", file.title,
                                 file.superseded ? "is superseded" : "has finished"),
                     look.bytes});
  }
  return found;
}

void forget_unneeded(const std::string& folder, const Connection& connection,
                     const std::vector<std::string>& paths) {
  const Paths wanted(paths.begin(), paths.end());
  Paths gone;
  for (;;) try {
      return forget(folder, connection, wanted, gone);
    } catch (const SqliteError& error) {
      if (!error.full()) throw;
      const std::optional<std::string> path = make_room(folder, connection, wanted);
      if (!path) throw;
      gone.insert(*path);
    }
}

std::vector<std::string> remove_unnamed(const std::string& folder, const Connection& connection,
                                        const std::vector<std::string>& paths) {
  std::vector<std::string> removed;
  std::string failure;
  std::set<std::string> some;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    some.insert(paths[i]);
    if (some.size() < kFilesAtOnce && i + 1 < paths.size()) continue;
    const std::string now_failed =
        remove_some(folder, connection, std::exchange(some, {}), removed);
    if (failure.empty()) failure = now_failed;
  }
  if (!failure.empty()) throw StoreError(failure);
  return removed;
}

std::vector<std::string> damage(const Connection& connection, const char* check) {
  std::vector<std::string> lines;
  try {
    Statement statement(connection, fmt::format("PRAGMA {}(10)", check));
    while (statement.step()) {
      std::string line = statement.text(0);
      std::replace(line.begin(), line.end(), '\n', ' ');
      if (line != "ok") lines.push_back(std::move(line));
    }
  } catch (const SqliteError& error) {
    // The database is too damaged for the check itself.
    if (error.locked()) throw;
    lines.push_back(error.what());
  }
  return lines;
}

void refuse_if_damaged(const Connection& connection, const char* check) {
  const std::vector<std::string> lines = damage(connection, check);
  if (lines.empty()) return;
  throw StoreError(fmt::format("the store {} is damaged ({}); nothing was changed. To mend it, {}",
                               connection.place(), lines.front(), sqlite::kSaveWhatCanBeRead));
}

}  // namespace acid

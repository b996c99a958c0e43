#include <algorithm>
#include <chrono>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <optional>
#include <thread>
#include <utility>

#include "engine/base/clock.hpp"
#include "store/at_work.hpp"
#include "store/folder_lock.hpp"
#include "store/impl.hpp"
#include "store/maintenance.hpp"
#include "store/select.hpp"
#include "store/upkeep.hpp"

namespace acid {
namespace fs = std::filesystem;
namespace {

/// The superseded part of an attempt: ticks and chunks with larger numbers than these.
struct Superseded {
  std::int64_t attempt = 0;
  std::string run;
  std::int64_t last_tick = 0;
  std::int64_t last_chunk = 0;
};

/// Leaves out runs that are being executed.
std::vector<Superseded> superseded_attempts(const Connection& connection) {
  const std::unordered_set<std::string> live = live_runs(connection);
  // NULL: all ticks or chunks of the attempt count.
  Statement select(connection,
                   "SELECT a.id, r.id, coalesce(a.valid_until_tick, ?1),"
                   " coalesce(a.valid_until_chunk, ?1)"
                   " FROM attempts a JOIN runs r ON r.number = a.run"
                   " WHERE coalesce(a.valid_until_tick, a.valid_until_chunk) IS NOT NULL"
                   " ORDER BY a.id");
  select.bind(std::numeric_limits<std::int64_t>::max());
  std::vector<Superseded> found;
  while (select.step())
    if (live.count(select.text(1)) == 0)
      found.push_back({select.integer(0), select.text(1), select.integer(2), select.integer(3)});
  return found;
}

constexpr std::int64_t kRowsAtOnce = 20'000;
constexpr std::int64_t kChunksAtOnce = 500;  // 8 MB

/// Calls delete_some(most), each call in its own transaction, until it deletes fewer than `most`
/// rows. Rests between two calls as long as the first took, so that a run that waits for the lock
/// gets it. Stops when another process has taken up the run.
void in_portions(const Connection& connection, const std::string& run, std::int64_t most,
                 const std::function<std::int64_t(std::int64_t)>& delete_some) {
  const SteadyClock clock;
  for (;;) {
    const double began = clock.seconds();
    Transaction transaction(connection, Transaction::Kind::write);
    if (live_runs(connection).count(run) > 0) return;
    const std::int64_t deleted = delete_some(most);
    transaction.commit();
    if (deleted < most) return;
    const double rest = std::min(clock.seconds() - began, 0.1);
    std::this_thread::sleep_for(std::chrono::duration<double>(rest));
  }
}

/// Deletes up to `most` of the rows that belong to `owner` and have larger numbers than `last`.
std::int64_t delete_rows(const Connection& connection, const char* table, const char* owner_column,
                         const char* number_column, std::int64_t owner, std::int64_t last,
                         std::int64_t most) {
  Statement(connection,
            fmt::format("DELETE FROM {0} WHERE {1} = ?1 AND {2} > ?2 AND {2} <="
                        " (SELECT max({2}) FROM (SELECT {2} FROM {0} WHERE {1} = ?1 AND {2} > ?2"
                        "  ORDER BY {2} LIMIT ?3))",
                        table, owner_column, number_column))
      .bind(owner, last, most)
      .run();
  return connection.changes();
}

/// Deletes points and, when nothing of the attempt counts, the series they belong to.
void delete_points(const Connection& connection, const Superseded& attempt) {
  std::vector<std::int64_t> series =
      numbers(connection, "SELECT id FROM series WHERE attempt = ? ORDER BY id", attempt.attempt);
  Statement summary(connection, "DELETE FROM series WHERE id = ?");
  in_portions(connection, attempt.run, kRowsAtOnce, [&](std::int64_t most) {
    std::int64_t left = most;
    while (!series.empty() && left > 0) {
      const std::int64_t id = series.back();
      const std::int64_t deleted =
          delete_rows(connection, "points", "series", "tick", id, attempt.last_tick, left);
      if (deleted == left) return most;
      if (attempt.last_tick == 0) summary.bind(id).run();
      series.pop_back();
      left -= deleted + 1;  // an empty series costs time, too
    }
    return series.empty() ? 0 : most;
  });
}

void delete_superseded(const Connection& connection) {
  for (const Superseded& one : superseded_attempts(connection)) {
    in_portions(connection, one.run, kChunksAtOnce, [&](std::int64_t most) {
      return delete_rows(connection, "event_chunks", "attempt", "chunk", one.attempt,
                         one.last_chunk, most);
    });
    in_portions(connection, one.run, 1, [&](std::int64_t) {
      Statement(connection,
                "DELETE FROM cut_digests WHERE checkpoint IN"
                " (SELECT id FROM checkpoints WHERE attempt = ? AND superseded <> 0)")
          .bind(one.attempt)
          .run();
      return 0;
    });
    in_portions(connection, one.run, kRowsAtOnce, [&](std::int64_t most) {
      return delete_rows(connection, "ticks", "attempt", "tick", one.attempt, one.last_tick, most);
    });
    // Points are deleted last: as long as other rows are left, points are left by which to find
    // them.
    delete_points(connection, one);
  }
}

/// Returns the paths of the files that no row names, and of the files that rows name.
std::pair<std::vector<std::string>, std::vector<std::string>> by_name(
    const Connection& connection, const std::vector<Leftover>& files) {
  std::unordered_set<std::string> names;
  for (const NamedFile& file : named_files(connection)) names.insert(file.path);
  std::pair<std::vector<std::string>, std::vector<std::string>> paths;
  for (const Leftover& file : files)
    (names.count(file.path) == 0 ? paths.first : paths.second).push_back(file.path);
  return paths;
}

std::string set_journal(const Connection& connection, const char* mode) {
  return texts(connection, fmt::format("PRAGMA journal_mode {} {}", *mode ? "=" : "", mode))
      .front();
}

}  // namespace

// To find out whether another process uses the store, it gives up the write-ahead log for a while,
// which works for the only user alone; the folder's lock keeps others from setting the log up again
// meanwhile. Returns why the database keeps its size; "": there is nothing to say.
std::string give_space_back(const std::string& folder, Connection& connection) {
  constexpr std::int64_t kManyBytes = 64 << 20;
  const std::int64_t free = connection.pragma("freelist_count");
  const bool much = free * 10 >= connection.pragma("page_count") ||
                    free * connection.pragma("page_size") >= kManyBytes;
  if (free == 0 || !much) return {};
  const FolderLock lock(folder, FolderLock::Wait::no);
  if (!lock.held()) return {};
  const bool logged = set_journal(connection, "") == "wal";
  // Without a log, others use the store unseen between two commits, and would wait for VACUUM.
  if (!logged && (!runs_at_work(folder).empty() || !live_runs(connection).empty()))
    return "the database keeps its size, because processes execute runs of it; what is free in it "
           "will be used again";
  try {
    connection.set_busy_timeout(0);
    if (!logged || set_journal(connection, "delete") == "delete") connection.execute("VACUUM");
  } catch (const SqliteError&) {
    // Another process uses it, or the disk has no room for the copy: the pages will be used again.
  }
  connection.set_busy_timeout(Connection::kBusySeconds);
  try {
    if (logged) set_journal(connection, "wal");
  } catch (const SqliteError&) {
    // A reader has come. The next process that opens the store for writing sets the log up.
  }
  return {};
}

namespace {

std::string note_in(const std::string& folder) { return folder + "/merging"; }

/// The process that merges into the folder; absent: there is no whole note.
std::optional<Lease> merging_process(const std::string& folder) {
  Lease lease;
  std::ifstream note(note_in(folder));
  std::getline(note, lease.host);
  std::getline(note, lease.boot_id);
  note >> lease.pid >> lease.process_start;
  return note ? std::optional(lease) : std::nullopt;
}

std::int64_t bytes_in(const fs::path& folder) {
  std::int64_t bytes = 0;
  std::error_code failed;
  for (fs::recursive_directory_iterator entry(folder, failed), end; !failed && entry != end;
       entry.increment(failed)) {
    std::error_code gone;
    const std::uintmax_t size = entry->is_regular_file(gone) ? entry->file_size(gone) : 0;
    if (!gone) bytes += static_cast<std::int64_t>(size);
  }
  return bytes;
}

fs::path path_without_slash(const std::string& folder) {
  const fs::path path = fs::absolute(folder).lexically_normal();
  return path.has_filename() ? path : path.parent_path();
}

}  // namespace

void note_merging(const std::string& folder) {
  const Lease lease = Lease::of_this_process();
  std::ofstream note(note_in(folder));
  note << lease.host << '\n'
       << lease.boot_id << '\n'
       << lease.pid << ' ' << lease.process_start << '\n';
  if (!note.flush())
    throw StoreError(fmt::format("cannot write {}; check the folder's permissions and free space",
                                 note_in(folder)));
}

void forget_merging(const std::string& folder) {
  std::error_code ignored;
  fs::remove(note_in(folder), ignored);
}

std::vector<Leftover> dead_merges(const std::string& store_folder) {
  const fs::path store = path_without_slash(store_folder);
  const std::string begins = store.filename().string() + ".merging-";
  std::vector<Leftover> found;
  std::error_code failed;
  for (fs::directory_iterator entry(store.parent_path(), failed), end; !failed && entry != end;
       entry.increment(failed)) {
    const std::string name = entry->path().filename().string();
    std::error_code ignored;
    if (!name.starts_with(begins) || !fs::is_directory(entry->symlink_status(ignored))) continue;
    const std::optional<Lease> process = merging_process(entry->path().string());
    if (process && !process->alive())
      found.push_back({"../" + name, "left by a merge that was killed", bytes_in(entry->path())});
  }
  std::ranges::sort(found, {}, &Leftover::path);
  return found;
}

void remove_dead_merges(const std::string& store_folder) {
  const fs::path above = path_without_slash(store_folder).parent_path();
  std::error_code ignored;
  for (const Leftover& dead : dead_merges(store_folder))
    fs::remove_all(above / fs::path(dead.path).filename(), ignored);
}

Garbage find_garbage(const Store& store, bool keep_checkpoints) {
  const Connection& connection = store.impl().connection();
  Garbage garbage;
  const Transaction one_view(connection, Transaction::Kind::read);
  for (const Superseded& one : superseded_attempts(connection)) {
    garbage.superseded_points +=
        one_number(connection,
                   "SELECT count(*) FROM series s JOIN points p ON p.series = s.id AND p.tick > ?2"
                   " WHERE s.attempt = ?1",
                   one.attempt, one.last_tick);
    garbage.superseded_events += one_number(
        connection, "SELECT sum(count) FROM event_chunks WHERE attempt = ? AND chunk > ?",
        one.attempt, one.last_chunk);
  }
  const std::unordered_set<std::string> live = live_runs(connection);
  const std::vector<NamedFile> named = named_files(connection);
  garbage.files = unneeded_files(store.folder(), named, live, keep_checkpoints);
  const std::vector<ListedFile> files = list_checkpoint_folder(store.folder());
  for (Leftover& file : orphans(named, spare_files(connection), files, live))
    garbage.files.push_back(std::move(file));
  for (Leftover& merge : dead_merges(store.folder())) garbage.files.push_back(std::move(merge));
  return garbage;
}

std::string collect_garbage(Store& store, const Garbage& garbage) {
  ACID_ASSERT(store.impl().writing, "the store {} is open for reading", store.folder());
  Connection& connection = store.impl().connection();
  refuse_if_damaged(connection, "quick_check");
  std::exception_ptr failure;  // A file that cannot be deleted does not keep the rest
  const auto remove = [&](const std::vector<std::string>& paths) {
    try {
      remove_unnamed(store.folder(), connection, paths);
    } catch (const StoreError&) {
      if (!failure) failure = std::current_exception();
    }
  };
  // Files that no row names go first: on a full disk, no row can be changed before a file has gone.
  const auto [unnamed, named] = by_name(connection, garbage.files);
  remove(unnamed);
  // For named files the rows are removed first, durably: a crash in between leaves files that the
  // next collection finds.
  forget_unneeded(store.folder(), connection, named);
  remove(named);
  delete_superseded(connection);
  remove_dead_merges(store.folder());
  const std::string kept = give_space_back(store.folder(), connection);
  if (failure) std::rethrow_exception(failure);
  return kept;
}

}  // namespace acid

// The rows of runs and the files of their attempts, in a merge.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <tuple>

#include "engine/base/descriptor.hpp"
#include "engine/base/folders.hpp"
#include "store/contents.hpp"
#include "store/files.hpp"
#include "store/merge_runs.hpp"
#include "store/proof.hpp"
#include "store/rows.hpp"

namespace acid {
namespace fs = std::filesystem;
namespace {

/// The name of a file in the folder of a run tells its content, so it is free, or taken by the
/// same.
std::string placed_path(const std::string& run_id, const std::string& sha256) {
  return fmt::format("checkpoints/{}/{}.safetensors", run_id, sha256.substr(0, 32));
}

[[noreturn]] void cannot_copy(const std::string& from, const std::string& why) {
  throw StoreError(fmt::format(
      "{} {}: nothing was merged; 'acid doctor --store' of its store says more", from, why));
}

void make_durable(const std::string& file) {
  const Descriptor written(open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!written || fsync(written.get()) != 0)
    throw StoreError(
        fmt::format("cannot write {}: {}; nothing was merged", file, std::strerror(errno)));
}

/// False when there is no such file.
bool copy_file(MergeSides& sides, const std::string& run_id, const std::string& path,
               const std::string& sha256) {
  const std::string from = sides.from_folder + "/" + path;
  if (!is_checkpoint_path(path)) cannot_copy(from, "is not a path under checkpoints/");
  const FileLook look = look_at_file(sides.from_folder, path);
  if (look.is == FileLook::Is::missing) return false;
  if (look.is == FileLook::Is::unreadable) cannot_copy(from, "cannot be read: " + look.reason);
  if (look.is == FileLook::Is::foreign) cannot_copy(from, "is not a plain file");
  const std::string placed = placed_path(run_id, sha256), to = sides.to_folder + "/" + placed;
  if (look_at_file(sides.to_folder, placed).is == FileLook::Is::plain &&
      digest_of_file(sides.to_folder, placed) == sha256)
    return true;
  make_run_folder(sides.to_folder, run_id);
  const std::string temporary = fmt::format("{}.{}.tmp", placed, getpid());
  sides.written.push_back(temporary);
  std::error_code error;
  fs::copy_file(from, sides.to_folder + "/" + temporary, fs::copy_options::overwrite_existing,
                error);
  if (error) cannot_copy(from, fmt::format("cannot be copied to {}: {}", to, error.message()));
  if (digest_of_file(sides.to_folder, temporary) != sha256)
    cannot_copy(from, fmt::format("is damaged: its SHA-256 is not the recorded {}", sha256));
  make_durable(sides.to_folder + "/" + temporary);
  fs::rename(sides.to_folder + "/" + temporary, to, error);
  if (error) cannot_copy(from, fmt::format("cannot be copied to {}: {}", to, error.message()));
  sync_folder(fs::path(to).parent_path().string());
  sides.written.push_back(placed);
  ++sides.report.files;
  sides.report.bytes += look.bytes;
  return true;
}

}  // namespace

void copy_models(MergeSides& sides, const std::string& run_id, std::int64_t attempt) {
  Statement models(sides.from,
                   "SELECT f.path, f.sha256 FROM artifacts f JOIN attempts a ON a.id = f.attempt"
                   " WHERE a.id = ? AND a.valid_until_tick IS NULL AND f.removed IS NULL");
  for (models.bind(attempt); models.step();)
    if (!copy_file(sides, run_id, models.text(0), models.text(1)))
      cannot_copy(sides.from_folder + "/" + models.text(0), "is missing");
}

void copy_checkpoints(MergeSides& sides, const std::string& run_id, std::int64_t attempt,
                      bool finished) {
  Statement files(sides.from,
                  "SELECT path, sha256, created, id FROM checkpoints WHERE attempt = ?"
                  " AND removed IS NULL AND superseded = 0");
  Statement removed(sides.to, "UPDATE checkpoints SET removed = ? WHERE id = ?");
  for (files.bind(attempt); files.step();) {
    if (copy_file(sides, run_id, files.text(0), files.text(1))) continue;
    if (!finished) cannot_copy(sides.from_folder + "/" + files.text(0), "is missing");
    removed.bind(files.text(2), files.integer(3) + sides.offsets.at("checkpoints")).run();
  }
}

std::int64_t merge_row(const MergeSides& sides, std::int64_t run, const std::string& digest) {
  Statement find(sides.to, "SELECT number, created FROM runs WHERE digest = ?");
  const auto as_new = [](const std::string& column) {
    return column == "number" ? "NULL" : column;
  };
  if (!find.bind(digest).step()) {
    copy_rows(sides.from, sides.to, "runs", "number = ?", as_new, run);
    const std::int64_t number = sides.to.last_insert_id();
    if (run_row_is_sealed(sides.from, run)) seal_run(sides.to, number);
    return number;
  }
  const std::int64_t number = find.integer(0);
  const auto rank = [](const Connection& connection, std::int64_t row) {
    Statement created(connection, "SELECT created FROM runs WHERE number = ?");
    created.bind(row).step();
    return std::tuple(run_row_is_sealed(connection, row), created.text(0),
                      content_of_rows(connection, "runs", "number = ?", row));
  };
  if (rank(sides.from, run) <= rank(sides.to, number)) return number;
  Statement theirs(sides.from,
                   "SELECT group_digest, algorithm, seed, driver, topology, workers,"
                   " budget_gradients, settings, plan, created FROM runs WHERE number = ?");
  theirs.bind(run).step();
  Statement update(sides.to,
                   "UPDATE runs SET (group_digest, algorithm, seed, driver, topology, workers,"
                   " budget_gradients, settings, plan, created) = (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
                   " WHERE digest = ?");
  update.bind_row(theirs).bind_from(11, digest).run();
  if (run_row_is_sealed(sides.from, run)) seal_run(sides.to, number);
  return number;
}

}  // namespace acid

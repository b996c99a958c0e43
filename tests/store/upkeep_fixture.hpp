#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "engine/base/digest.hpp"
#include "store/impl.hpp"
#include "store/maintenance.hpp"
#include "store/queries.hpp"
#include "store/writer.hpp"
#include "tests/store/fixture.hpp"

namespace acid::test {

inline bool exists(const std::string& folder, const std::string& path) {
  return std::filesystem::exists(std::filesystem::symlink_status(folder + "/" + path));
}

/// Makes the file look as if it was written two minutes ago.
inline void make_old(const std::string& folder, const std::string& path) {
  const timespec then{std::time(nullptr) - 120, 0};
  const timespec times[2]{then, then};
  utimensat(AT_FDCWD, (folder + "/" + path).c_str(), times, AT_SYMLINK_NOFOLLOW);
}

inline void write_file(const std::string& folder, const std::string& path,
                       const std::string& content) {
  const std::filesystem::path file = folder + "/" + path;
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << content;
  make_old(folder, path);
}

inline std::string path_of(const std::string& run, const std::string& name) {
  return "checkpoints/" + run + "/" + name;
}

/// An execution of a run that records one value and one event of worker 0 for each gradient.
class Execution {
 public:
  Execution(Store& store, const std::string& run, std::int64_t gradients = 0,
            const std::optional<Continuation>& continued = std::nullopt,
            const Lease& lease = Lease::of_this_process())
      : store_(store),
        run_(run),
        attempt_(store.begin_attempt(run, lease, {}, {}, {}, continued)),
        writer_(store.folder(), run, attempt_),
        gradients_(gradients) {}

  void work(std::int64_t gradients) {
    for (std::int64_t i = 0; i < gradients; ++i) {
      const Event event{EventKind::commit_gradient, 1.0 * static_cast<double>(gradients_), 0, 7};
      writer_.events(0, gradients_, {&event, 1});
      ++gradients_;
      const double value = 1.0 / static_cast<double>(gradients_);
      sample(writer_, {gradients_, 0, 0, 0},
             {{"train_loss", kWholeRun, value}, {"staleness", 2, value}});
    }
    writer_.flush();
  }
  /// Writes a file and records its checkpoint; keeps all older ones. Returns the files to delete.
  std::vector<std::string> checkpoint(const std::string& name) {
    CheckpointRecord record;
    record.position.gradients = gradients_;
    record.path = path_of(run_, name);
    const std::string content = fmt::format("{} at {}", name, gradients_);
    write_file(store_.folder(), record.path, content);
    record.sha256 = sha256_hex(content);
    record.bytes = static_cast<std::int64_t>(content.size());
    record.worker_digests = {sha256_hex(name)};
    record.tensor_digests = {{1, 2}};
    return writer_.checkpoint(record, 1000);
  }
  /// Works, and records a checkpoint of this name after it.
  void work_to(const std::string& name, std::int64_t gradients) {
    work(gradients);
    checkpoint(name);
  }
  void end(RunState state) {
    AttemptResult result = ended_as(state);
    result.position.gradients = gradients_;
    if (state == RunState::finished) {
      const std::string content = fmt::format("model after {}", attempt_);
      const std::string path = path_of(run_, "final-mean.safetensors");
      write_file(store_.folder(), path, content);
      result.artifacts = {
          {"final-mean", path, sha256_hex(content), static_cast<std::int64_t>(content.size())}};
    }
    writer_.flush();
    store_.end_attempt(attempt_, result);
  }

 private:
  Store& store_;
  std::string run_;
  std::int64_t attempt_;
  RunWriter writer_;
  std::int64_t gradients_;
};

/// Continues from the newest checkpoint but `back`.
inline Continuation continuation(const Store& store, const std::string& run, std::size_t back = 0) {
  const auto all = checkpoints_of(store, run);
  return {all.at(all.size() - 1 - back).id, {}};
}

/// From now on SQLite finds the disk full whenever this `happens` to checkpoints ("INSERT",
/// "UPDATE"): a table whose last row number is taken cannot grow.
inline void fill_the_disk(const Store& store, const std::string& happens) {
  execute(store,
          "CREATE TABLE full (id INTEGER PRIMARY KEY AUTOINCREMENT);"
          "INSERT INTO full VALUES (9223372036854775807);"
          "CREATE TRIGGER no_room BEFORE " +
              happens + " ON checkpoints BEGIN INSERT INTO full SELECT NULL; END");
}

/// Everything that commands show of a run's records.
inline std::string shown(const Store& store, const std::string& run) {
  std::string text;
  for (const Series& series : read_series(store, run)) {
    text += fmt::format("{} of {} in {}:", series.metric, series.worker, series.unit);
    for (const SeriesPoint& point : series.points)
      text += fmt::format(" {}={}", point.position.gradients, point.value);
  }
  for (const auto& events : read_events(store, run))
    text += fmt::format(" {}", sha256_hex(std::span<const std::byte>(events)));
  const RunSummary summary = run_summaries(store, {run}).at(0);
  for (const auto& [metric, value] : summary.metrics) text += fmt::format(" {}={}", metric, value);
  for (const CheckpointRow& row : checkpoints_of(store, run)) {
    text += fmt::format(" {} {} {}", row.number, row.sha256, row.position.gradients);
    text += cut_digests(store, row.id).workers.at(0);
  }
  return text + std::to_string(run_detail(store, run).attempts.size());
}

}  // namespace acid::test

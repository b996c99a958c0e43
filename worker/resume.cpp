#include "worker/resume.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "engine/base/error.hpp"
#include "engine/run/cut.hpp"
#include "store/files.hpp"

namespace acid {
namespace {

using nlohmann::json;

// The parts of the environment on which a run's bits may depend (docs/SEMANTICS.md, Bits), as
// pointers into the recorded environment.
constexpr std::array kPartOfTheResult = {
    "/plan_sha256",
    "/acid_version",
    "/git_commit",
    "/git_diff_sha256",
    "/compiler",
    "/compiler_flags",
    "/programs",
    "/c_library",
    "/cpu_features",
    "/model_runtime/libtorch",
    "/model_runtime/blas_library",
    "/model_runtime/blas_config",  // its version and core type
    "/model_runtime/blas_threads",
    "/model_runtime/cpu_capability",
    "/model_runtime/mkldnn",
    "/model_runtime/python",
    "/model_runtime/torch",
    "/model_runtime/torch_threads",
    "/model_runtime/numpy",
    "/model_runtime/jax",
    "/model_runtime/program_sha256",
    "/model_runtime/start_sha256",
    "/model_runtime/examples_sha256",
    "/cuda/driver",
    "/cuda/runtime",
    "/cuda/device/name",
    "/cuda/device/capability",
};

json at_pointer(const json& document, const char* pointer) {
  const json::json_pointer path(pointer);
  return document.contains(path) ? document.at(path) : json();
}

constexpr const char* kData = "data";  // beside what kPartOfTheResult names

std::string words_of_files(const FileDigests& digests) {
  std::vector<std::string> files;
  for (const auto& [path, sha256] : digests)
    files.push_back(fmt::format("{} (SHA-256 {}…)", path, sha256.substr(0, 12)));
  return files.empty() ? "nothing" : fmt::format("{}", fmt::join(files, ", "));
}

/// Throws UsageError when the run may not go on from the checkpoint.
void check_may_resume(const RunDetail& run, const Resumption& found, std::string_view layout,
                      bool allow_changed) {
  if (!found.changed.empty() && !allow_changed)
    throw UsageError(fmt::format(
        "run {} cannot go on from its checkpoint at {} gradients as if nothing had happened; "
        "since then this changed:\n{}\n--allow-changed goes on all the same and records it; "
        "'acid run RECIPE --force' starts again",
        run.summary.id, found.row.position.gradients, describe_differences(found.changed)));
  check_layout(*found.file, layout);
}

/// Refuses to start again: that would supersede what the missing files hold, and the files may be
/// elsewhere, on a disk that is not mounted or left behind when the store was copied.
void refuse_without(const CheckpointRow& missing, const Store& store, const RunDetail& run) {
  // Another process that executes the run may have removed old files meanwhile.
  if (version_of(run_detail(store, run.summary.id)) != version_of(run))
    throw Overtaken(fmt::format("run {} is executed by another process", run.summary.id));
  throw StoreError(fmt::format(
      "run {} cannot go on: its checkpoint {} at {} gradients is missing, and no other can be "
      "used; put it back, or 'acid run RECIPE --force' starts again",
      run.summary.id, checked_path(store, missing.path), missing.position.gradients));
}

}  // namespace

void refuse_altered_record(const Store& store, const RunDetail& run) {
  if (run.attempts.empty()) return;
  const std::string& id = run.summary.id;
  const std::vector<std::string> altered = altered_record(store, id);
  if (altered.empty()) return;
  throw StoreError(fmt::format(
      "run {} is not continued: the database was altered outside acid, and {}; 'acid verify {}' "
      "says more, 'acid run RECIPE --force' starts the run again",
      id, fmt::join(altered, ", "), id));
}

json differences(const AttemptRow& then, const json& environment_now,
                 const FileDigests& files_now) {
  json changed = json::object();
  for (const char* pointer : kPartOfTheResult) {
    const json before = at_pointer(then.environment, pointer);
    const json now = at_pointer(environment_now, pointer);
    if (before != now) changed[pointer + 1] = {before, now};
  }
  // Files are compared by content: a data set may be elsewhere by now.
  FileDigests before = then.file_digests, now = files_now;
  const auto by_content = [](const auto& a, const auto& b) { return a.second < b.second; };
  std::sort(before.begin(), before.end(), by_content);
  std::sort(now.begin(), now.end(), by_content);
  FileDigests gone, come;
  std::ranges::set_difference(before, now, std::back_inserter(gone), by_content);
  std::ranges::set_difference(now, before, std::back_inserter(come), by_content);
  if (!gone.empty() || !come.empty()) changed[kData] = {gone, come};
  return changed;
}

std::string side_of_difference(std::string_view what, const json& value) {
  if (what == kData) return words_of_files(value.get<FileDigests>());
  if (value.is_null()) return "nothing";
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::string describe_differences(const json& differences) {
  std::string text;
  for (const auto& [what, pair] : differences.items())
    text += fmt::format("  {}: then {}, now {}\n", what, side_of_difference(what, pair.at(0)),
                        side_of_difference(what, pair.at(1)));
  if (!text.empty()) text.pop_back();
  return text;
}

std::optional<Resumption> find_resumption(const Store& store, const RunDetail& run,
                                          const json& environment_now, const FileDigests& files_now,
                                          std::string_view layout, bool allow_changed,
                                          std::vector<std::string>& complaints) {
  const CheckpointRow* missing = nullptr;
  for (auto row = run.checkpoints.rbegin(); row != run.checkpoints.rend(); ++row) {
    Resumption found{.row = *row, .file = nullptr, .changed = {}};
    try {
      found.file = std::make_unique<CheckpointFile>(checked_path(store, row->path), row->sha256);
    } catch (const DamagedCheckpoint& damage) {
      // A removed checkpoint need not have a file.
      if (row->removed) continue;
      const bool is_missing = dynamic_cast<const MissingCheckpoint*>(&damage) != nullptr;
      if (is_missing && missing == nullptr) missing = &*row;
      complaints.emplace_back(damage.what());
      continue;
    }
    const auto writer = std::find_if(run.attempts.begin(), run.attempts.end(),
                                     [&](const auto& a) { return a.number == row->attempt; });
    ACID_ASSERT(writer != run.attempts.end(), "attempt {} of run {}", row->attempt, run.summary.id);
    found.changed = differences(*writer, environment_now, files_now);
    check_may_resume(run, found, layout, allow_changed);
    if (!complaints.empty())
      complaints.push_back(fmt::format("going on from checkpoint {} at {} gradients", row->number,
                                       row->position.gradients));
    return found;
  }
  // While another process executes the run, files come and go; the run cannot be begun anyway.
  if (missing != nullptr && run.summary.state != RunState::running)
    refuse_without(*missing, store, run);
  if (!complaints.empty()) complaints.push_back("no checkpoint is left: starting again");
  return std::nullopt;
}

}  // namespace acid

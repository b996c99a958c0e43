#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/checkpoint/checkpoint_file.hpp"
#include "store/queries.hpp"

namespace acid {

using FileDigests = std::vector<std::pair<std::string, std::string>>;  // path, SHA-256

/// The differences between two executions in things that must be equal for equal bits: {what:
/// [then, now]}. Compares environments (of environment() and the model runtime) and data files, of
/// which only those that the other execution does not have are listed.
nlohmann::json differences(const AttemptRow& then, const nlohmann::json& environment_now,
                           const FileDigests& files_now);
/// What one execution has of a difference, for a reader; `what` is its name in differences().
std::string side_of_difference(std::string_view what, const nlohmann::json& value);
/// One line per difference, indented: "  program: then …, now …".
std::string describe_differences(const nlohmann::json& differences);

/// Throws StoreError when the run was executed before and its record is not as acid wrote it: what
/// goes on from it, or replaces it, would be sealed together with what was changed. A run whose
/// process was killed has no seal yet. Reads what the run left.
void refuse_altered_record(const Store& store, const RunDetail& run);

/// A checkpoint to go on from.
struct Resumption {
  CheckpointRow row;
  std::unique_ptr<CheckpointFile> file;
  nlohmann::json changed;  // differences that were allowed
};

/// Finds the newest checkpoint of the run whose file is whole, also one that was let go of and was
/// found again; absent when there is none. Adds to `complaints` what is wrong with newer ones.
/// Throws UsageError with the differences when the program or its data changed since the checkpoint
/// was written, unless that is allowed, and in any case when its state is not of the driver's
/// `layout`; StoreError when no checkpoint can be used and missing files may be put back; Overtaken
/// when files are missing because another process has gone on with the run.
std::optional<Resumption> find_resumption(const Store& store, const RunDetail& run,
                                          const nlohmann::json& environment_now,
                                          const FileDigests& files_now, std::string_view layout,
                                          bool allow_changed, std::vector<std::string>& complaints);

}  // namespace acid

#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/checkpoint/checkpoint_file.hpp"
#include "store/queries.hpp"

namespace acid {

using FileDigests = std::vector<std::pair<std::string, std::string>>;  // path, SHA-256

/// What must be equal for two executions to give the same bits and is not: {what: [then, now]}.
/// Compares environments (as environment() and the model runtime tell) and data files.
nlohmann::json differences(const AttemptRow& then, const nlohmann::json& environment_now,
                           const FileDigests& files_now);
/// One line per difference, indented: "  program: then …, now …".
std::string describe_differences(const nlohmann::json& differences);

/// A checkpoint to go on from.
struct Resumption {
  CheckpointRow row;
  std::unique_ptr<CheckpointFile> file;
  nlohmann::json changed;  // differences that were allowed
};

/// The newest checkpoint of the run whose file is whole, also one that was let go of and was found
/// again; absent when there is none. What is wrong with newer ones is added to `complaints`. Throws
/// UsageError with the differences when the program or its data changed since it was written,
/// unless that is allowed, and in any case when its state is not of the driver's `layout`;
/// StoreError when none can be used and files are missing that may be put back; Overtaken when they
/// are because another process has gone on with the run.
std::optional<Resumption> find_resumption(const Store& store, const RunDetail& run,
                                          const nlohmann::json& environment_now,
                                          const FileDigests& files_now, std::string_view layout,
                                          bool allow_changed, std::vector<std::string>& complaints);

}  // namespace acid

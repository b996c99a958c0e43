#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "store/queries.hpp"
#include "store/sqlite.hpp"

namespace acid {

/// Adds a checkpoint to an attempt of the run with this number: it holds what the attempt has in
/// the store by now. Marks superseded checkpoints of the run, and all others but the `keep` newest,
/// as removed, and returns the paths of their files. Belongs into the transaction that wrote the
/// attempt's values.
std::vector<std::string> add_checkpoint(const sqlite::Connection& connection, std::int64_t run,
                                        std::int64_t attempt, const CheckpointRecord& record,
                                        int keep);

/// As checkpoints_of().
std::vector<CheckpointRow> read_checkpoints(const sqlite::Connection& connection,
                                            const std::string& run_id);

}  // namespace acid

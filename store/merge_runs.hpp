#pragma once

#include <map>
#include <string>
#include <vector>

#include "store/merge.hpp"
#include "store/sqlite.hpp"

namespace acid {

/// One store that is being merged into another, in transactions on both. For this folder only.
struct MergeSides {
  const sqlite::Connection& from;
  const sqlite::Connection& to;
  std::string from_folder, to_folder;
  std::map<std::string, std::int64_t> offsets;  // by table: what is added to its row numbers
  MergeReport& report;
  std::vector<std::string>& written;  // files in the target that this merge made
  std::vector<std::string>& unnamed;  // files in the target that rows do not name any more
};
/// Row numbers of the tables with attempts, above all of the target's.
std::map<std::string, std::int64_t> offsets_above(const sqlite::Connection& to);

/// Copies the final models of an attempt of `from`, as far as they count. StoreError when one is
/// missing or damaged.
void copy_models(MergeSides& sides, const std::string& run_id, std::int64_t attempt);
/// Copies the files of an attempt's checkpoints, after its rows. StoreError likewise; of a finished
/// run none is needed.
void copy_checkpoints(MergeSides& sides, const std::string& run_id, std::int64_t attempt,
                      bool finished);

/// The run's number in the target, with the newer of the two rows.
std::int64_t merge_row(const MergeSides& sides, std::int64_t run, const std::string& digest);
/// Brings a run of `from` with its attempts and prediction into `to`.
void merge_run(MergeSides& sides, std::int64_t run);

}  // namespace acid

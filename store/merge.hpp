#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "store/store.hpp"

namespace acid {

/// A run that two stores had executed, each by itself.
struct ExecutedTwice {
  std::string run;
  std::string store;   // that was merged
  bool equal = false;  // its final digests
  bool came = false;   // the execution of the merged store counts now
  std::string what;    // "its mean ended as 1a2b…, and as 3c4d… in STORE: both are kept, …"
};

struct MergeReport {
  std::size_t runs_added = 0;      // that the target did not have
  std::size_t runs_completed = 0;  // that had not come as far, or not so well, in the target
  std::size_t runs_known = 0;      // of which nothing new counts
  std::size_t experiments_added = 0, experiments_renewed = 0;
  std::size_t files = 0;  // checkpoints and models that were copied
  std::int64_t bytes = 0;
  std::vector<ExecutedTwice> twice;
  /// A sentence for each experiment whose older definition has runs that the newer one lacks.
  std::vector<std::string> apart;
  std::vector<std::string> broken;  // what did not hold in a merged store and does not hold here
};

/// Brings everything of the stores in these folders into another one, in one transaction: a process
/// that is killed meanwhile leaves the target as it was, and files that no row names. The result
/// does not depend on the order of merging (contents_digest(); the rules are in store/SCHEMA.md).
/// UsageError when a folder is the target's own. StoreError, with nothing changed, when a store
/// cannot be read, a living process executes a run of one, or a file is missing or damaged. `done`:
/// how many runs of how many have been looked at; 0 of 0 before a store is checked. An exception of
/// it changes nothing. Thread: that of the target.
using MergeDone = std::function<void(std::size_t done, std::size_t runs)>;
MergeReport merge_stores(Store& target, const std::vector<std::string>& folders,
                         const MergeDone& done);

}  // namespace acid

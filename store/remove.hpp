#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "store/queries.hpp"

namespace acid {

/// What removing runs and experiments takes away, and what stays.
struct Removal {
  std::vector<std::string> experiments;  // ids
  std::vector<std::string> emptied;      // ids of experiments that lose their last run, and go too
  std::vector<std::string> runs;         // ids
  std::size_t attempts = 0;
  std::int64_t values = 0, events = 0;
  std::vector<std::string> files;  // paths relative to the store's folder
  std::int64_t file_bytes = 0;
  struct Shared {
    std::string id;
    std::vector<std::string> experiments;  // ids of those that keep the run
  };
  std::vector<Shared> kept;              // runs of the experiments that others have, too
  std::vector<Shared> taken_out;         // runs that go, from experiments that stay
  std::vector<std::string> predictions;  // runs that stay, predicted from an experiment that goes
  bool operator==(const Removal&) const = default;
};
inline bool operator==(const Removal::Shared& a, const Removal::Shared& b) {
  return a.id == b.id && a.experiments == b.experiments;
}

/// An experiment goes with the runs that no other experiment has, those of its search included. A
/// run that is named itself goes out of all experiments. The experiment from whose simulated runs
/// others were predicted stays, unless it is named. StoreError when a living process executes one
/// of the runs, or goes on with it.
Removal find_removal(const Store& store, const Named& named);

/// Removes that in one transaction, then the files, and gives the space back to the file system. A
/// process that is killed meanwhile leaves the store as it was, or complete but for files that no
/// row names. StoreError, with nothing removed, when the store has changed since find_removal().
/// Returns what collect_garbage() does.
std::string remove_from(Store& store, const Named& named, const Removal& expected);

}  // namespace acid

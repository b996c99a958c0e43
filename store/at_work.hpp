#pragma once

#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "engine/base/descriptor.hpp"

namespace acid {

/// Says, while it lives, which runs of a store this process goes on with: between two runs, and
/// before a restart, none of them has an attempt under way. The list is in a file of this process
/// in the store's folder, which the process keeps locked: the lock goes when the process dies,
/// however it dies. Where the file system has no such locks, or the folder cannot be written, the
/// list is not kept. One per process.
class AtWork {
 public:
  explicit AtWork(std::string store_folder) : store_folder_(std::move(store_folder)) {}
  ~AtWork();
  AtWork(const AtWork&) = delete;
  AtWork& operator=(const AtWork&) = delete;

  /// Replaces the list by these runs. The store must be there.
  void on(const std::vector<std::string>& run_ids);

 private:
  void forget();

  const std::string store_folder_;
  std::string path_;
  Descriptor descriptor_;
};

/// The runs that some living process goes on with.
std::unordered_set<std::string> runs_at_work(const std::string& store_folder);

}  // namespace acid

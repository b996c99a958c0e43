#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "store/queries.hpp"

namespace CLI {
class App;
}

namespace acid {

/// Which part of some runs a process begins with, where several processes execute them: every
/// parts-th run from the part-th on.
struct Share {
  std::size_t part = 1, parts = 1;
  bool others = true;          // then takes what other parts leave
  std::set<std::string> done;  // ids of runs that are left out

  /// Those of this part first, then those of the next, and so on.
  std::vector<RunSummary> ordered(const std::vector<RunSummary>& runs) const;
};

/// How several `acid run` of one recipe divide its runs.
struct ShareOptions {
  std::string asked;        // "2/4"; empty: nothing is shared on purpose
  bool own_stores = false;  // asked for

  /// --share and --own-stores.
  void add_to(CLI::App& command);
  /// Parts beyond the last begin again with the first.
  Share share() const;
};

/// Waits while some task merges parts into the store in this folder, which nothing may read then.
void wait_while_parts_merge(const std::string& store_folder);

/// The store of one part, where parts cannot write to one store because its file system does not
/// keep file locks among hosts. It is in the store's folder, which all parts see. The part that
/// ends last merges all of them into the store, with what an earlier division of the same runs has
/// left. Use from one thread.
class PartStore {
 public:
  /// Waits while earlier parts are merged, and makes the folder; the part counts as going on from
  /// now. StoreError when a process on another host executes the same part.
  PartStore(const std::string& store_folder, const std::string& experiment, const Share& share);

  const std::string& folder() const { return folder_; }
  /// This part has come to its end. If all have, merges them into the store and removes them; waits
  /// first while another task merges these parts or another recipe's. Says what it did, or for what
  /// it waits. StoreError when they cannot be merged: then they stay.
  void end();

 private:
  std::string part_folder(std::size_t part) const;
  std::string marker(std::size_t part) const;
  std::string merging() const;
  bool all_have_ended() const;
  bool takes_merging() const;
  void merge() const;

  const std::string store_, base_;
  const Share share_;
  const std::string folder_;
};

}  // namespace acid

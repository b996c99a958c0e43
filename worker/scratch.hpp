#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace acid {

/// Copies of data files in a folder of this host, for hosts whose data are on a slow file system
/// that many of them read. The processes of a host share the copies: one makes them, others wait.
/// They stay, for later runs; a file that has changed since gets a new copy.
class ScratchCopies {
 public:
  /// Empty: no copies are made.
  explicit ScratchCopies(std::string folder) : folder_(std::move(folder)) {}
  /// In the folder that ACID_SCRATCH names.
  static ScratchCopies of_this_process();

  /// A task's data set with the paths of copies, which are there when it returns. Where a file
  /// cannot be copied its own path stays, and remarks() say why.
  nlohmann::json local(const nlohmann::json& dataset);
  /// The file of which `path` is a copy, or that is in a folder of which it is one; else `path`.
  std::string original(const std::string& path) const;
  const std::vector<std::string>& remarks() const { return remarks_; }

 private:
  std::string folder_;
  std::vector<std::pair<std::string, std::string>> copies_;  // (copy, original)
  std::vector<std::string> remarks_;
};

}  // namespace acid

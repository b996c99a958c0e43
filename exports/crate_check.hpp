#pragma once

#include <map>
#include <string>
#include <vector>

#include "exports/crate.hpp"
#include "store/maintenance.hpp"

namespace acid {

/// Whether the path is that of a crate: a ZIP archive, or a folder with ro-crate-metadata.json.
bool is_crate(const std::string& path);

/// A crate that somebody else made, open for checking. Its store is a copy in a temporary folder,
/// which goes with this object, so that the crate stays as it is when runs are verified.
class OpenCrate {
 public:
  /// UsageError if it has no store or no SHA256SUMS, or an archive has a path that could lead out
  /// of a folder. Error if it cannot be read or copied, or does not fit into the temporary folder.
  explicit OpenCrate(const std::string& path);
  ~OpenCrate();
  OpenCrate(const OpenCrate&) = delete;
  OpenCrate& operator=(const OpenCrate&) = delete;

  const std::string& store_folder() const { return store_; }
  /// The runs and experiments of its store, in the order in which they were named for the crate.
  const AskedRuns& asked() const { return asked_; }
  /// What is wrong with the files: another digest than in SHA256SUMS, a file of the store without
  /// one, or that no row names; a model that was left out, or an experiment in the store, of which
  /// asked.json does not say so; a table that is not what the store gives (add_crate_tables()), or
  /// is missing where asked.json does not say so. Empty: nothing. `here`: this acid. Throws as
  /// add_crate_tables(). Call it once, before runs are verified.
  std::vector<StoreFinding> findings(const RunJson& run_json, const CrateBuild& here) const;

 private:
  void unpack(const std::string& archive);
  void copy_store();
  void read_sums();
  void read_asked();
  std::vector<std::string> files_below(const std::string& below) const;
  std::vector<StoreFinding> wrong_files() const;
  std::vector<StoreFinding> wrong_content() const;
  std::vector<StoreFinding> wrong_tables(const RunJson& run_json, const CrateBuild& here) const;

  std::string temporary_, root_, store_;
  std::map<std::string, std::string> sums_;  // path → SHA-256
  AskedRuns asked_;
  bool has_models_ = true, has_tables_ = true;  // the crate does not say that they were left out
  CrateBuild maker_;  // the acid that made the crate; empty: it does not say
};

}  // namespace acid

#include "exports/crate_check.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "engine/base/digest.hpp"
#include "engine/base/names.hpp"
#include "exports/zip.hpp"
#include "reports/claims.hpp"
#include "store/existing_store.hpp"
#include "store/queries.hpp"

namespace acid {
namespace fs = std::filesystem;
namespace {

using nlohmann::json;

constexpr const char* kSums = "SHA256SUMS";
constexpr const char* kAsked = "asked.json";

std::string temporary_folder() {
  std::error_code error;
  std::string name = (fs::temp_directory_path(error) / "acid-crate-XXXXXX").string();
  if (error || ::mkdtemp(name.data()) == nullptr)
    throw Error(
        fmt::format("cannot make the temporary folder {}: let TMPDIR name a folder in "
                    "which you can write",
                    name));
  return name;
}

/// Whether it is a regular file that is reached through no symbolic link below `root`.
bool is_own_file(const fs::path& root, const std::string& path) {
  std::error_code error;
  fs::path place = root;
  for (const fs::path& part : fs::path(path)) {
    place /= part;
    if (fs::is_symlink(fs::symlink_status(place, error))) return false;
  }
  return fs::is_regular_file(fs::symlink_status(place, error));
}

/// Whether a file there could pass for one of the crate: at its top, or in a folder that crates
/// have. What a reader keeps beside them, such as a copy of the store, is the reader's.
bool is_place_of_crate(const std::string& path) {
  const std::string first = path.substr(0, path.find('/'));
  return first == path || first == kCrateStore || first == "runs" || first == "recipes";
}

/// Whether every crate may have the file, also one without tables.
bool is_in_every_crate(const std::string& path) {
  return path.starts_with(std::string(kCrateStore) + "/") || path.starts_with("recipe") ||
         path == "claims.json" || path == kSums || path == kAsked || path == "REPRODUCE.md" ||
         path == "ro-crate-metadata.json";
}

StoreFinding wrong_file(std::string what) {
  return {std::move(what), "take the crate again from where it was published", false};
}

/// A line of SHA256SUMS as path and digest.
std::pair<std::string, std::string> sum_of(const std::string& line) {
  constexpr std::size_t kDigits = 64;
  const bool right = line.size() > kDigits + 2 && line.compare(kDigits, 2, "  ") == 0;
  if (!right || !is_plain_path(line.substr(kDigits + 2)))
    throw UsageError(
        fmt::format("SHA256SUMS of the crate has a line that acid does not write: '{}'", line));
  return {line.substr(kDigits + 2), line.substr(0, kDigits)};
}

std::vector<std::string> texts_of(const json& document, const char* key) {
  std::vector<std::string> texts;
  if (!document.is_object() || !document.contains(key) || !document[key].is_array()) return texts;
  for (const json& text : document[key])
    if (text.is_string()) texts.push_back(text);
  return texts;
}

std::string text_of(const json& document, const char* key) {
  const bool there = document.is_object() && document.contains(key) && document[key].is_string();
  return there ? document[key].get<std::string>() : std::string();
}

}  // namespace

bool is_crate(const std::string& path) {
  std::error_code error;
  if (fs::is_directory(path, error))
    return fs::exists(fs::path(path) / "ro-crate-metadata.json", error);
  return path.ends_with(".zip") && fs::exists(path, error);
}

OpenCrate::OpenCrate(const std::string& path) : temporary_(temporary_folder()), root_(path) {
  try {
    if (!fs::is_directory(path)) unpack(path);
    for (const std::string& needed : {std::string(kSums), std::string(kCrateStore) + "/store.db"})
      if (!is_own_file(root_, needed))
        throw UsageError(fmt::format(
            "{} has no file {}: it is no crate that 'acid export --crate' made", path, needed));
    copy_store();
    read_sums();
    read_asked();
  } catch (...) {
    std::error_code ignored;
    fs::remove_all(temporary_, ignored);
    throw;
  }
}

OpenCrate::~OpenCrate() {
  std::error_code ignored;
  fs::remove_all(temporary_, ignored);
}

void OpenCrate::unpack(const std::string& archive) {
  root_ = temporary_ + "/crate";
  StagedFolder folder(root_);
  read_zip(archive, [&](const std::vector<ZippedFile>& files) {
    constexpr std::uint64_t kCopies = 3;  // the files, the store, the tables made again
    std::uint64_t left = fs::space(temporary_).available / kCopies;
    std::set<std::string> known;
    for (const ZippedFile& file : files) {
      if (!is_plain_path(file.path) || !known.insert(file.path).second)
        throw UsageError(fmt::format(
            "{} has a file '{}', with a name that acid gives none or twice: nothing was unpacked",
            archive, file.path));
      if (file.bytes >= left)
        throw Error(fmt::format("{} does not fit into {}: let TMPDIR name a larger disk", archive,
                                temporary_));
      left -= file.bytes;
    }
    for (const ZippedFile& file : files) folder.add(file.path, file.read);
  });
  folder.commit_folder();
}

std::vector<std::string> OpenCrate::files_below(const std::string& below) const {
  std::vector<std::string> files;
  std::error_code error;
  const fs::path folder = fs::path(root_) / below;
  for (fs::recursive_directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error))
    if (entry->is_symlink() || !entry->is_directory())
      files.push_back(entry->path().lexically_relative(root_).string());
  if (error) throw Error(fmt::format("cannot read {}: {}", folder.string(), error.message()));
  return files;
}

void OpenCrate::copy_store() {
  store_ = temporary_ + "/" + kCrateStore;
  for (const std::string& path : files_below(kCrateStore)) {
    if (!is_own_file(root_, path)) continue;  // SHA256SUMS does not have it, or it differs
    const fs::path from = fs::path(root_) / path, to = fs::path(temporary_) / path;
    if (from == to) continue;
    std::error_code error;
    fs::create_directories(to.parent_path(), error);
    if (!error) fs::copy_file(from, to, error);
    if (!error) fs::permissions(to, fs::perms::owner_write, fs::perm_options::add, error);
    if (error)
      throw Error(
          fmt::format("cannot copy {} to {}: {}", from.string(), to.string(), error.message()));
  }
  bring_copy_up_to_date(store_);
}

void OpenCrate::read_sums() {
  std::ifstream file(fs::path(root_) / kSums);
  for (std::string line; std::getline(file, line);) sums_.insert(sum_of(line));
  if (file.bad()) throw Error(fmt::format("cannot read {}/{}", root_, kSums));
}

void OpenCrate::read_asked() {
  json said;
  if (is_own_file(root_, kAsked)) {
    std::ifstream file(fs::path(root_) / kAsked);
    said = json::parse(file, nullptr, false);
  }
  has_models_ = std::ranges::count(texts_of(said, "left_out"), "models") == 0;
  has_tables_ = std::ranges::count(texts_of(said, "left_out"), "tables") == 0;
  maker_ = {text_of(said, "acid_version"), text_of(said, "git_commit"), ""};
  const Store store(store_, Store::Access::read);
  const std::vector<RunSummary> there = list_runs(store);
  const std::vector<std::string> runs = texts_of(said, "runs");
  for (const std::string& id : runs)
    if (std::ranges::find(there, id, &RunSummary::id) != there.end()) asked_.ids.push_back(id);
  // A run that the crate does not name is in its store all the same.
  for (const RunSummary& run : there)
    if (std::ranges::find(runs, run.id) == runs.end()) asked_.ids.push_back(run.id);
  const std::vector<ExperimentSummary> experiments = list_experiments(store);
  for (const std::string& id : texts_of(said, "experiments"))
    if (std::ranges::find(experiments, id, &ExperimentSummary::id) != experiments.end())
      asked_.experiments.push_back(id);
}

std::vector<StoreFinding> OpenCrate::wrong_files() const {
  std::vector<StoreFinding> wrong;
  for (const auto& [path, sum] : sums_) {
    if (!is_own_file(root_, path))
      wrong.push_back(wrong_file(path + " is missing"));
    else if (sha256_file(root_ + "/" + path) != sum)
      wrong.push_back(wrong_file(path + " was altered: SHA256SUMS has another SHA-256 of it"));
  }
  for (const std::string& path : files_below(""))
    if (is_place_of_crate(path) && path != kSums && !sums_.contains(path))
      wrong.push_back(wrong_file(path + " is in the crate, but not in SHA256SUMS"));
  return wrong;
}

std::vector<StoreFinding> OpenCrate::wrong_content() const {
  std::vector<StoreFinding> wrong;
  const Store store(store_, Store::Access::read);
  std::set<std::string> named{std::string(kCrateStore) + "/store.db"};
  for (const std::string& id : asked_.ids)
    if (const auto result = run_detail(store, id).result)
      for (const auto& artifact : result->artifacts) {
        if (artifact.removed.empty())
          named.insert(std::string(kCrateStore) + "/" + artifact.path);
        else if (has_models_)
          wrong.push_back(
              wrong_file(fmt::format("the final model of run {} was left out, and the crate does "
                                     "not say so",
                                     id)));
      }
  for (const std::string& path : files_below(kCrateStore))
    if (!named.contains(path)) wrong.push_back(wrong_file(path + " is named by no run"));
  if (asked_.experiments.empty()) return wrong;
  const std::vector<std::string> known = with_plans_of_claims(store, asked_).experiments;
  for (const ExperimentSummary& experiment : list_experiments(store))
    if (std::ranges::find(known, experiment.id) == known.end())
      wrong.push_back(
          wrong_file(fmt::format("experiment {} is in the crate, but not in {}: its claims are not "
                                 "judged",
                                 experiment.name, kAsked)));
  return wrong;
}

std::vector<StoreFinding> OpenCrate::wrong_tables(const RunJson& run_json,
                                                  const CrateBuild& here) const {
  std::vector<StoreFinding> wrong;
  const bool same = maker_.version == here.version && maker_.commit == here.commit;
  const std::string maker =
      same ? std::string()
           : fmt::format("; acid {}, commit {}, made it, which may write it otherwise",
                         maker_.version, maker_.commit);
  const auto is_base = [](const auto& sum) { return is_in_every_crate(sum.first); };
  const bool whole = has_tables_ || !std::ranges::all_of(sums_, is_base) ||
                     !std::ranges::all_of(files_below(""), is_in_every_crate);
  StagedFolder again(temporary_ + "/again");
  try {
    add_crate_tables(
        Store(store_, Store::Access::read), asked_, again, run_json, [](std::size_t) {}, whole);
  } catch (const Error& error) {
    return {
        wrong_file(fmt::format("the store does not give the crate's tables: {}", error.what()))};
  }
  for (const auto& [path, file] : again.files()) {
    const bool may_lack = !has_tables_ && !is_in_every_crate(path);
    if (may_lack && !sums_.contains(path) && !is_own_file(root_, path)) continue;
    if (!is_own_file(root_, path) || sha256_file(root_ + "/" + path) != file.sha256)
      wrong.push_back(wrong_file(path + " is not what the store gives" + maker));
  }
  for (const auto& [path, sum] : sums_)
    if ((path == "claims.json" || path.starts_with("runs/")) && !again.files().contains(path))
      wrong.push_back(wrong_file(path + " is about what the store does not have"));
  return wrong;
}

std::vector<StoreFinding> OpenCrate::findings(const RunJson& run_json,
                                              const CrateBuild& here) const {
  std::vector<StoreFinding> all = wrong_files();
  try {
    for (StoreFinding& wrong : wrong_content()) all.push_back(std::move(wrong));
  } catch (const Error& error) {
    all.push_back(wrong_file(fmt::format("the crate's store cannot be read: {}", error.what())));
  }
  for (StoreFinding& wrong : wrong_tables(run_json, here)) all.push_back(std::move(wrong));
  return all;
}

}  // namespace acid

#include "worker/scratch.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <numeric>
#include <stdexcept>

#include "engine/base/digest.hpp"
#include "engine/data/dataset.hpp"
#include "recipes/digest.hpp"
#include "store/folder_lock.hpp"

namespace acid {
namespace {

namespace fs = std::filesystem;

std::string stamp_of(const std::string& path) {
  struct stat facts {};
  if (stat(path.c_str(), &facts) != 0) return {};
  return fmt::format("{}:{}:{}.{}\n", path, facts.st_size, facts.st_mtim.tv_sec,
                     facts.st_mtim.tv_nsec);
}

constexpr auto kThroughLinks = fs::directory_options::follow_directory_symlink;

// The file, or the folder with all in it, as it is now. What it holds is digested when it is read,
// as without a copy.
std::string version_of(const std::string& path) {
  if (!fs::is_directory(path)) return stamp_of(path);
  std::vector<std::string> stamps;
  for (const auto& entry : fs::recursive_directory_iterator(path, kThroughLinks))
    stamps.push_back(stamp_of(entry.path()));
  std::ranges::sort(stamps);
  return path + "\n" + std::accumulate(stamps.begin(), stamps.end(), std::string());
}

// Each file with its size, by its path from the one that is given.
std::map<std::string, std::uintmax_t> sizes_of(const fs::path& path) {
  if (!fs::is_directory(path)) return {{"", fs::file_size(path)}};
  std::map<std::string, std::uintmax_t> sizes;
  for (const auto& entry : fs::recursive_directory_iterator(path, kThroughLinks))
    if (entry.is_regular_file()) sizes[entry.path().lexically_relative(path)] = entry.file_size();
  return sizes;
}

// False also when a power cut or a cleaner of temporary files has left a part of it.
bool is_whole(const fs::path& copy, const fs::path& original) {
  return fs::exists(copy) && sizes_of(copy) == sizes_of(original);
}

// The copy appears as a whole or not at all.
void copy_whole(const std::string& from, const std::string& to) {
  const std::string unfinished = to + ".new";
  fs::remove_all(unfinished);  // left by a process that was killed
  fs::create_directories(unfinished);
  fs::copy(from, fs::path(unfinished) / fs::path(from).filename(),
           fs::copy_options::recursive | fs::copy_options::overwrite_existing);
  const int descriptor = open(unfinished.c_str(), O_RDONLY | O_CLOEXEC);
  const bool synced = descriptor >= 0 && syncfs(descriptor) == 0;
  if (descriptor >= 0) close(descriptor);
  if (!synced) throw std::runtime_error(fmt::format("{} cannot be synced", unfinished));
  fs::remove_all(to);
  fs::rename(unfinished, to);
}

}  // namespace

ScratchCopies ScratchCopies::of_this_process() {
  const char* folder = std::getenv("ACID_SCRATCH");
  return ScratchCopies(folder == nullptr ? "" : folder);
}

nlohmann::json ScratchCopies::local(const nlohmann::json& dataset) {
  // A program finds what it needs beside itself.
  const DatasetEntry* entry = find_dataset(dataset.at("kind").get<std::string>());
  if (folder_.empty() || (entry != nullptr && entry->in_process)) return dataset;
  nlohmann::json local = dataset;
  for_each_data_path(local, [&](nlohmann::json& path) {
    const auto original = fs::absolute(path.get<std::string>()).lexically_normal().string();
    if (!fs::exists(original)) return;  // the reader says what is wrong
    try {
      const std::string folder =
          fmt::format("{}/acid-{}", folder_, sha256_hex(version_of(original)).substr(0, 16));
      const std::string copy = fs::path(folder) / fs::path(original).filename();
      fs::create_directories(folder_);
      const FolderLock alone(folder_, FolderLock::Wait::yes);
      if (!is_whole(copy, original)) copy_whole(original, folder);
      copies_.emplace_back(copy, path.get<std::string>());
      path = copy;
    } catch (const std::exception& error) {
      remarks_.push_back(fmt::format("{} is read where it is, since it cannot be copied to {}: {}",
                                     original, folder_, error.what()));
    }
  });
  return local;
}

std::string ScratchCopies::original(const std::string& path) const {
  for (const auto& [copy, original] : copies_)
    if (path.starts_with(copy)) return original + path.substr(copy.size());
  return path;
}

}  // namespace acid

#include "worker/watched_files.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <optional>

#include "engine/base/digest.hpp"
#include "engine/base/error.hpp"

namespace acid {
namespace {

constexpr std::size_t kShownDigits = 12;

// By which another host's clock may differ from this one's.
constexpr std::time_t kClocksApart = 60;

std::string shown(const std::string& sha256) { return sha256.substr(0, kShownDigits); }

struct Look {
  std::string words;        // size, times and inode
  std::time_t changed = 0;  // the last change of content, name or permissions
};

/// Of a regular file; nothing where there is none: some digests are of a folder or of data made
/// from a file, and a missing file may come back.
std::optional<Look> look_at(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  return Look{fmt::format("{} {}.{} {}.{} {}:{}", status.st_size, status.st_mtim.tv_sec,
                          status.st_mtim.tv_nsec, status.st_ctim.tv_sec, status.st_ctim.tv_nsec,
                          status.st_dev, status.st_ino),
              std::max(status.st_mtim.tv_sec, status.st_ctim.tv_sec)};
}

}  // namespace

std::vector<std::string> other_than_planned(const RunDetail& run, const FileDigests& files) {
  std::vector<std::string> words;
  if (!run.plan.is_object() || !run.plan.contains("files") || !run.plan["files"].is_object())
    return words;
  const nlohmann::json& planned = run.plan["files"];
  for (const auto& [path, sha256] : files) {
    const auto asked = planned.find(path);
    if (asked == planned.end() || !asked->is_string() || *asked == sha256) continue;
    words.push_back(
        fmt::format("{} has changed since the run was asked for (SHA-256 {}… then, {}… "
                    "now)",
                    path, shown(asked->get<std::string>()), shown(sha256)));
  }
  return words;
}

WatchedFiles::WatchedFiles(const FileDigests& files, std::time_t since) {
  for (const auto& [path, sha256] : files)
    if (const auto look = look_at(path))
      files_.push_back({path, sha256, look->changed < since - kClocksApart ? look->words : ""});
}

void WatchedFiles::refuse_changed() {
  for (Watched& file : files_) {
    const auto now = look_at(file.path);
    if (!now || now->words == file.look) continue;
    if (sha256_file(file.path) != file.sha256)
      throw Error(fmt::format(
          "{} changed during the run, whose result would belong to neither content. Put the old "
          "file back and run the recipe again, which goes on from the last checkpoint; with the "
          "new content the recipe makes another run",
          file.path));
    file.look = now->words;
  }
}

}  // namespace acid

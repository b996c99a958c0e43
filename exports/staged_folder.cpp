#include "exports/staged_folder.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "engine/base/descriptor.hpp"
#include "engine/base/digest.hpp"
#include "exports/zip.hpp"

namespace acid {
namespace fs = std::filesystem;
namespace {

[[noreturn]] void fail(const char* doing, const std::string& what, const std::string& why) {
  throw Error(fmt::format("cannot {} {}: {}", doing, what, why));
}

bool is_plain(const std::string& name) {
  return !name.empty() && name.front() != '.' &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) {
           return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                  c == '.' || c == '_' || c == '-';
         });
}

void refuse_unless_plain(const std::string& path) {
  if (!is_plain_path(path))
    throw StoreError(
        fmt::format("the store gives rise to the file name '{}', which is none that acid makes: "
                    "the database was altered outside acid; 'acid doctor --store' looks for more",
                    path));
}

/// Writes the file or folder to the disk, so that a renamed file is never seen half-written.
void sync(const std::string& path) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file || fsync(file.get()) != 0) fail("write", path, std::strerror(errno));
}

}  // namespace

bool is_plain_path(const std::string& path) {
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    if (!is_plain(path.substr(at, end - at))) return false;
    at = end + 1;
  }
  return true;
}

StagedFolder::StagedFolder(const std::string& target) : target_(target) {
  while (target_.size() > 1 && target_.back() == '/') target_.pop_back();
  std::error_code error;
  const fs::file_status status = fs::status(target_, error);
  const bool empty_folder = fs::is_directory(status) && fs::is_empty(target_, error) && !error;
  if (fs::exists(fs::symlink_status(target_, error)) && !empty_folder)
    throw UsageError(
        fmt::format("{} is {}; name another, or remove it", target_,
                    fs::is_directory(status) ? "a folder that holds something" : "there already"));
  staging_ = fmt::format("{}.{}.partial", target_, getpid());
  if (!fs::create_directory(staging_, error) && !error)
    error = std::make_error_code(std::errc::file_exists);
  if (error) fail("create", staging_, error.message());
}

StagedFolder::~StagedFolder() {
  std::error_code ignored;
  fs::remove_all(staging_, ignored);  // commit_folder() has renamed it already
}

std::string StagedFolder::place_of(const std::string& path) {
  refuse_unless_plain(path);
  const std::string place = staging_ + "/" + path;
  std::error_code error;
  fs::create_directories(fs::path(place).parent_path(), error);
  if (error) fail("create", place, error.message());
  return place;
}

void StagedFolder::add(const std::string& path, std::string_view content) {
  add(path, [&](const Write& write) { write(content); });
}

void StagedFolder::add(const std::string& path, const std::function<void(const Write&)>& fill) {
  const std::string place = place_of(path);
  std::ofstream file(place, std::ios::binary);
  Sha256 digest;
  StagedFile made;
  errno = 0;
  fill([&](std::string_view piece) {
    digest.update(piece);
    made.bytes += piece.size();
    if (!file.write(piece.data(), static_cast<std::streamsize>(piece.size())))
      fail("write", place, std::strerror(errno));
  });
  file.close();
  if (!file) fail("write", place, std::strerror(errno));
  made.sha256 = digest.hex();
  files_[path] = made;
}

void StagedFolder::adopt(const std::string& path) {
  for (const auto& entry : fs::recursive_directory_iterator(staging_ + "/" + path)) {
    if (!entry.is_regular_file()) continue;
    const std::string name = fs::relative(entry.path(), staging_).generic_string();
    refuse_unless_plain(name);
    files_[name] = {entry.file_size(), sha256_file(entry.path().string())};
  }
}

void StagedFolder::commit_folder() {
  for (const auto& [path, file] : files_) sync(staging_ + "/" + path);
  std::error_code error;
  fs::rename(staging_, target_, error);  // an empty folder of that name is replaced
  if (error) fail("create", target_, error.message());
}

void StagedFolder::commit_zip() {
  std::vector<std::string> paths;
  for (const auto& [path, file] : files_) paths.push_back(path);
  const std::string archive = staging_ + "/archive.zip";
  write_zip(archive, staging_, paths);
  sync(archive);
  std::error_code error;
  fs::rename(archive, target_, error);
  if (error) fail("create", target_, error.message());
}

}  // namespace acid

#include "store/at_work.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace acid {
namespace {

namespace fs = std::filesystem;

constexpr const char* kUnnamed = ".new";

fs::path folder_of(const std::string& store_folder) { return fs::path(store_folder) / "at-work"; }

/// Whether a process holds the file locked.
bool is_held(const fs::path& file) {
  const Descriptor opened(open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  return opened && flock(opened.get(), LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

template <class Visit>
void for_each_file(const std::string& store_folder, const Visit& visit) {
  std::error_code none;
  for (fs::directory_iterator entry(folder_of(store_folder), none), end; !none && entry != end;
       entry.increment(none))
    visit(entry->path());
}

}  // namespace

AtWork::~AtWork() { forget(); }

// The file is locked before it gets its name, so a file with a name and without a lock was left by
// a process that died.
void AtWork::on(const std::vector<std::string>& run_ids) {
  const fs::path folder = folder_of(store_folder_);
  std::error_code failed;
  fs::create_directory(folder, failed);
  if (fs::is_symlink(folder, failed)) return;
  for_each_file(store_folder_, [&](const fs::path& file) {
    const bool about_to_be_locked = file.extension() == kUnnamed &&
                                    fs::last_write_time(file, failed) + std::chrono::minutes(1) >
                                        fs::file_time_type::clock::now();
    if (!about_to_be_locked && !is_held(file)) fs::remove(file, failed);
  });
  std::string unnamed = folder / (std::string("XXXXXX") + kUnnamed);
  Descriptor written(mkostemps(unnamed.data(), std::strlen(kUnnamed), O_CLOEXEC));
  if (!written) return;
  struct stat store {};  // gives the file the store's permissions
  if (stat((fs::path(store_folder_) / "store.db").c_str(), &store) == 0)
    fchmod(written.get(), store.st_mode & 0666);
  const std::string text = fmt::format("{}\n", fmt::join(run_ids, "\n"));
  const std::string name = fs::path(unnamed).replace_extension();
  const bool said =
      flock(written.get(), LOCK_EX | LOCK_NB) == 0 &&
      write(written.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
      rename(unnamed.c_str(), name.c_str()) == 0;
  if (!said) fs::remove(unnamed, failed);
  forget();
  descriptor_ = std::move(written);
  path_ = name;
}

void AtWork::forget() {
  if (!descriptor_) return;
  std::error_code ignored;
  fs::remove(path_, ignored);
  descriptor_.close();
}

std::unordered_set<std::string> runs_at_work(const std::string& store_folder) {
  std::unordered_set<std::string> ids;
  for_each_file(store_folder, [&](const fs::path& file) {
    if (file.extension() == kUnnamed || !is_held(file)) return;
    std::ifstream lines(file);
    for (std::string id; std::getline(lines, id);) ids.insert(id);
  });
  return ids;
}

}  // namespace acid

#include "engine/transport/left_segments.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "engine/base/host_name.hpp"

namespace acid {
namespace {

namespace fs = std::filesystem;

// A process maps its segment within this time after making it.
constexpr double kSecondsToMap = 0.5;

struct Segment {
  std::string path;
  std::uint64_t inode = 0;
};

double seconds_between(const timespec& before, const timespec& after) {
  return static_cast<double>(after.tv_sec - before.tv_sec) +
         1e-9 * static_cast<double>(after.tv_nsec - before.tv_nsec);
}

/// "vader_segment.HOST.USER.JOB.RANK" of Open MPI 4, "sm_segment.…" of version 5.
std::vector<Segment> segments_in(const std::string& folder) {
  const std::string full = host_name(), near = full.substr(0, full.find('.'));
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  std::vector<Segment> found;
  std::error_code none;
  for (fs::directory_iterator entry(folder, none), end; !none && entry != end;
       entry.increment(none)) {
    const std::string name = entry->path().filename();
    bool ours = false;
    for (const char* kind : {"vader", "sm"})
      for (const std::string& named : {full, near})
        ours = ours || name.starts_with(fmt::format("{}_segment.{}.{}.", kind, named, geteuid()));
    struct stat facts {};
    if (ours && lstat(entry->path().c_str(), &facts) == 0 && S_ISREG(facts.st_mode) &&
        facts.st_uid == geteuid() && seconds_between(facts.st_mtim, now) > kSecondsToMap)
      found.push_back({entry->path(), facts.st_ino});
  }
  return found;
}

/// Whether all processes that may have a segment of this name are visible; not so in a container
/// with the host's name.
bool sees_all_of_host() {
  const auto own = [](const char* kind) {  // empty where it cannot be read
    std::error_code unreadable;
    return fs::read_symlink(fmt::format("/proc/self/ns/{}", kind), unreadable).string();
  };
  // Linux always gives the host's namespace this name.
  const std::string name = own("uts");
  return own("pid") == "pid:[4026531836]" || (!name.empty() && name != "uts:[4026531838]");
}

bool is_ours(const fs::path& process) {
  std::ifstream status(process / "status");
  for (std::string word; status >> word;)
    if (uid_t user = 0; word == "Uid:" && status >> user) return user == geteuid();
  return false;
}

/// Removes from the list what the process has mapped; everything if its mappings cannot be read.
void keep_unmapped(std::vector<Segment>& segments, const fs::path& process) {
  std::ifstream maps(process / "maps");
  const bool hides = !maps && (errno == EACCES || errno == EPERM);
  if (hides && process.filename() != "1" && (geteuid() == 0 || is_ours(process))) segments.clear();
  for (std::string line; std::getline(maps, line);) {
    std::istringstream words(line);
    std::string addresses, rights, offset, device;
    std::uint64_t inode = 0;
    words >> addresses >> rights >> offset >> device >> inode;
    std::erase_if(segments, [&](const Segment& each) { return inode != 0 && each.inode == inode; });
  }
}

}  // namespace

std::vector<std::string> remove_left_segments(const std::string& folder) {
  std::vector<Segment> segments;
  if (sees_all_of_host()) segments = segments_in(folder);
  std::error_code none;
  for (fs::directory_iterator process("/proc", none), end;
       !segments.empty() && !none && process != end; process.increment(none))
    if (std::isdigit(static_cast<unsigned char>(process->path().filename().string().front())) != 0)
      keep_unmapped(segments, process->path());
  std::vector<std::string> removed;
  for (const Segment& segment : segments)
    if (!none && fs::remove(segment.path, none)) removed.push_back(segment.path);
  return removed;
}

}  // namespace acid

#include "store/hosts.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "engine/base/error.hpp"
#include "engine/base/folders.hpp"
#include "engine/base/names.hpp"

namespace acid {
namespace {

namespace fs = std::filesystem;

bool has_option(std::string_view options, std::string_view option) {
  const std::vector<std::string_view> all = split_at(options, ',');
  return std::ranges::find(all, option) != all.end();
}

// A file in the store's folder, whose name says what it is for.
std::string sharing_mark(const std::string& folder) { return folder + "/shared-among-hosts"; }

struct Mount {
  std::string type, options;
};

// The mount that holds the folder. A line of mountinfo: numbers, device, root, place, options, any
// number of fields, "-", type, source, options of the file system.
Mount mount_of(const std::string& folder) {
  struct stat facts {};
  if (stat(folder.c_str(), &facts) != 0) return {};
  const std::string device = fmt::format("{}:{}", major(facts.st_dev), minor(facts.st_dev));
  Mount found;
  std::ifstream file("/proc/self/mountinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t mark = line.find(" - ");
    if (mark == std::string::npos) continue;
    std::istringstream before(line.substr(0, mark)), after(line.substr(mark + 3));
    std::string id, parent, number, root, place, options, type, source, more;
    before >> id >> parent >> number >> root >> place >> options;
    after >> type >> source >> more;
    if (number == device) found = {type, options + "," + more};
  }
  return found;
}

struct flock whole_file() {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

// Whether another process gets a lock on the file.
bool another_gets_it(int descriptor) {
  const pid_t child = fork();
  if (child == 0) {
    struct flock lock = whole_file();
    _exit(fcntl(descriptor, F_SETLK, &lock) == 0 ? 1 : 0);
  }
  int status = 0;
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 1;
}

// SQLite takes locks by fcntl.
std::string why_a_lock_fails(const std::string& folder) {
  std::string name = folder + "/.lock-XXXXXX";
  const int descriptor = mkostemp(name.data(), O_CLOEXEC);
  if (descriptor < 0) return {};  // what cannot be written needs no locks
  struct flock lock = whole_file();
  std::string why;
  if (fcntl(descriptor, F_SETLK, &lock) != 0)
    why = fmt::format("its file system gives no file locks ({})", std::strerror(errno));
  else if (another_gets_it(descriptor))
    why = "its file system gives one file lock to two processes";
  close(descriptor);
  unlink(name.c_str());
  return why;
}

}  // namespace

bool is_network_file_system(long type) {
  // Magic numbers of statfs(2). FUSE is among them for sshfs, virtiofs and the like.
  constexpr std::array<std::uint32_t, 24> kNetwork{
      0x6969,      // NFS
      0x517B,      // SMB
      0xFE534D42,  // SMB2
      0xFF534D42,  // CIFS
      0x01021997,  // 9P
      0x0BD00BD0,  // Lustre
      0x47504653,  // GPFS
      0x5346414F,  // AFS
      0x6B414653,  // kAFS
      0x00C36400,  // Ceph
      0x65735546,  // FUSE
      0x19830326,  // BeeGFS
      0xAAD7AAEA,  // PanFS
      0x7461636F,  // OCFS2
      0x01161970,  // GFS2
      0x20030528,  // OrangeFS
      0x73757245,  // Coda
      0x564C,      // NCP
      0x61636673,  // ACFS
      0x013111A8,  // IBRIX
      0xBEEFDEAD,  // SNFS
      0x786F4256,  // folders that VirtualBox shares with its guests,
      0xBACBACBC,  // VMware,
      0x7C7C6673,  // and Parallels
  };
  return std::find(kNetwork.begin(), kNetwork.end(), static_cast<std::uint32_t>(type)) !=
         kNetwork.end();
}

bool is_on_network(const std::string& folder) {
  struct statfs facts {};
  return statfs(folder.c_str(), &facts) == 0 && is_network_file_system(facts.f_type);
}

void make_store_folder(const std::string& folder) {
  try {
    create_folders((fs::path(folder) / "checkpoints").string());
  } catch (const StoreError& error) {
    throw StoreError(
        fmt::format("cannot create the store {}: {}, or choose another folder with --store", folder,
                    error.what()));
  }
}

void share_among_hosts(const std::string& folder) {
  make_store_folder(folder);
  std::ofstream(sharing_mark(folder), std::ios::app).flush();
}

bool is_shared_among_hosts(const std::string& folder) {
  std::error_code ignored;
  return is_on_network(folder) || fs::exists(sharing_mark(folder), ignored);
}

std::string why_locks_fail(std::string_view type, std::string_view options) {
  const auto kept_by = [&](std::string_view option) {
    return fmt::format("it is mounted with '{}', by which file locks stay within one host", option);
  };
  if (type.starts_with("nfs"))
    for (const char* option : {"nolock", "local_lock=all", "local_lock=posix"})
      if (has_option(options, option)) return kept_by(option);
  if (type == "lustre" && has_option(options, "localflock")) return kept_by("localflock");
  if (type == "cifs" || type == "smb3")
    for (const char* option : {"nobrl", "nolock"})
      if (has_option(options, option)) return kept_by(option);
  if (type == "gfs2")
    for (const char* option : {"localflocks", "lockproto=lock_nolock"})
      if (has_option(options, option)) return kept_by(option);
  // BeeGFS and OCFS2 pass locks on only where they were set up to, which a mount does not show.
  constexpr std::array kWithoutLocks{"9p",    "afs",    "beegfs", "coda",     "fuse",  "ncpfs",
                                     "ocfs2", "prl_fs", "vboxsf", "virtiofs", "vmhgfs"};
  // These pass file locks on to their servers; other programs behind FUSE rarely do.
  constexpr std::array kFuseWithLocks{"fuse.glusterfs", "fuse.ceph", "fuse.ceph-fuse", "fuse.mfs",
                                      "fuse.juicefs"};
  const auto is_among = [&](const auto& types) {
    return std::ranges::find(types, type) != types.end();
  };
  if ((type.starts_with("fuse.") && !is_among(kFuseWithLocks)) || is_among(kWithoutLocks))
    return fmt::format("file locks on a file system of type {} stay within one host", type);
  return {};
}

std::string why_locks_fail(const std::string& folder) {
  const fs::path there = existing_part(folder);
  const Mount mount = mount_of(there);
  const std::string why = why_locks_fail(mount.type, mount.options);
  return why.empty() ? why_a_lock_fails(there) : why;
}

}  // namespace acid

// See failing_io.hpp. All calls go to the kernel by syscall(), so that no function must be looked
// up and nothing allocated, for any caller and at any time.
#include "tests/crash/failing_io.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace {

using acid::test::FailingIoCount;

enum class Mode { once, forever, shortened, full };
enum class Verdict { pass, cut, fail };

// Written once, before main; until then no operation counts.
struct Plan {
  FailingIoCount* count = nullptr;
  char folder[PATH_MAX] = {};
  std::int64_t at = 0;
  int error = EIO;
  Mode mode = Mode::once;
};
Plan plan;

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : value;
}

bool is_program(std::string_view name) {
  char path[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  if (length <= 0) return false;
  const std::string_view whole(path, static_cast<std::size_t>(length));
  return whole.substr(whole.rfind('/') + 1) == name;
}

FailingIoCount* map_count(const char* file) {
  const int descriptor = static_cast<int>(syscall(SYS_openat, AT_FDCWD, file, O_RDWR | O_CLOEXEC));
  if (descriptor < 0) return nullptr;
  void* memory =
      mmap(nullptr, sizeof(FailingIoCount), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  close(descriptor);
  return memory == MAP_FAILED ? nullptr : static_cast<FailingIoCount*>(memory);
}

__attribute__((constructor)) void read_plan() {
  const std::string_view folder = variable("ACID_FAIL_UNDER");
  const std::string_view mode = variable("ACID_FAIL_MODE");
  if (folder.empty() || folder.size() >= sizeof plan.folder) return;
  if (!is_program(variable("ACID_FAIL_PROGRAM"))) return;
  std::copy(folder.begin(), folder.end(), plan.folder);
  if (const char* at = std::getenv("ACID_FAIL_AT")) plan.at = std::atoll(at);
  plan.error = variable("ACID_FAIL_ERRNO") == "ENOSPC" ? ENOSPC : EIO;
  plan.mode = mode == "forever" ? Mode::forever
              : mode == "short" ? Mode::shortened
              : mode == "full"  ? Mode::full
                                : Mode::once;
  if (const char* file = std::getenv("ACID_FAIL_COUNT_FILE")) plan.count = map_count(file);
}

bool is_under(std::string_view path) {
  const std::string_view folder(plan.folder);
  return path.substr(0, folder.size()) == folder &&
         (path.size() == folder.size() || path[folder.size()] == '/');
}

// Decides what happens to the next operation on a file under the folder.
Verdict next_verdict(const char* call, const char* path, bool is_write) {
  if (plan.mode == Mode::shortened && !is_write) return Verdict::pass;
  const std::int64_t number = plan.count->operations.fetch_add(1) + 1;
  if (plan.at == 0 || number < plan.at) return Verdict::pass;
  const bool lasting = plan.mode == Mode::forever || plan.mode == Mode::full;
  if (number > plan.at && !lasting) return Verdict::pass;
  const bool cut =
      plan.mode == Mode::shortened || (number == plan.at && plan.mode == Mode::full && is_write);
  const Verdict verdict = cut ? Verdict::cut : Verdict::fail;
  if (plan.count->struck.fetch_add(1) == 0) {
    std::snprintf(plan.count->call, sizeof plan.count->call, "%s", call);
    std::snprintf(plan.count->path, sizeof plan.count->path, "%s", path);
  }
  if (verdict == Verdict::fail) errno = plan.error;
  return verdict;
}

Verdict of_descriptor(const char* call, int descriptor, bool is_write = false) {
  if (plan.count == nullptr) return Verdict::pass;
  char link[64], path[PATH_MAX];
  std::snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  const int saved = errno;
  const ssize_t length = readlink(link, path, sizeof path - 1);
  errno = saved;
  if (length <= 0) return Verdict::pass;
  path[length] = '\0';
  return is_under(path) ? next_verdict(call, path, is_write) : Verdict::pass;
}

Verdict of_path(const char* call, const char* path) {
  if (plan.count == nullptr) return Verdict::pass;
  char whole[2 * PATH_MAX] = {};
  if (path[0] != '/' && getcwd(whole, PATH_MAX) != nullptr) std::strcat(whole, "/");
  const std::size_t begin = std::strlen(whole);
  std::snprintf(whole + begin, sizeof whole - begin, "%s", path);
  return is_under(whole) ? next_verdict(call, whole, false) : Verdict::pass;
}

int by_descriptor(const char* call, long number, int descriptor) {
  if (of_descriptor(call, descriptor) == Verdict::fail) return -1;
  return static_cast<int>(syscall(number, descriptor));
}

int truncate_to(int descriptor, off_t length) {
  if (of_descriptor("ftruncate", descriptor) == Verdict::fail) return -1;
  return static_cast<int>(syscall(SYS_ftruncate, descriptor, length));
}

ssize_t write_at(int descriptor, const void* data, std::size_t size, off_t offset) {
  const Verdict verdict = of_descriptor("pwrite", descriptor, size > 1);
  if (verdict == Verdict::fail) return -1;
  return syscall(SYS_pwrite64, descriptor, data, verdict == Verdict::cut ? size / 2 : size, offset);
}

int open_at(int folder, const char* path, int flags, mode_t mode) {
  if ((flags & O_CREAT) != 0 && of_path("open", path) == Verdict::fail) return -1;
  return static_cast<int>(syscall(SYS_openat, folder, path, flags, mode));
}

// Reads the mode that follows `flags` in open(), if there is one.
#define MODE_AFTER(flags)                       \
  mode_t mode = 0;                              \
  if (((flags) & (O_CREAT | O_TMPFILE)) != 0) { \
    va_list arguments;                          \
    va_start(arguments, flags);                 \
    mode = va_arg(arguments, mode_t);           \
    va_end(arguments);                          \
  }

}  // namespace

extern "C" {

ssize_t write(int descriptor, const void* data, std::size_t size) {
  const Verdict verdict = of_descriptor("write", descriptor, size > 1);
  if (verdict == Verdict::fail) return -1;
  return syscall(SYS_write, descriptor, data, verdict == Verdict::cut ? size / 2 : size);
}

ssize_t writev(int descriptor, const iovec* parts, int count) {
  if (of_descriptor("writev", descriptor) == Verdict::fail) return -1;
  return syscall(SYS_writev, descriptor, parts, count);
}

ssize_t pwrite(int descriptor, const void* data, std::size_t size, off_t offset) {
  return write_at(descriptor, data, size, offset);
}
ssize_t pwrite64(int descriptor, const void* data, std::size_t size, off64_t offset) {
  return write_at(descriptor, data, size, offset);
}

int fsync(int descriptor) { return by_descriptor("fsync", SYS_fsync, descriptor); }
int fdatasync(int descriptor) { return by_descriptor("fdatasync", SYS_fdatasync, descriptor); }

int ftruncate(int descriptor, off_t length) noexcept { return truncate_to(descriptor, length); }
int ftruncate64(int descriptor, off64_t length) noexcept { return truncate_to(descriptor, length); }

int rename(const char* from, const char* to) noexcept {
  if (of_path("rename", to) == Verdict::fail) return -1;
  return static_cast<int>(syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}

int unlink(const char* path) noexcept {
  if (of_path("unlink", path) == Verdict::fail) return -1;
  return static_cast<int>(syscall(SYS_unlinkat, AT_FDCWD, path, 0));
}

int mkdir(const char* path, mode_t mode) noexcept {
  if (of_path("mkdir", path) == Verdict::fail) return -1;
  return static_cast<int>(syscall(SYS_mkdirat, AT_FDCWD, path, mode));
}

int open(const char* path, int flags, ...) {
  MODE_AFTER(flags)
  return open_at(AT_FDCWD, path, flags, mode);
}
int open64(const char* path, int flags, ...) {
  MODE_AFTER(flags)
  return open_at(AT_FDCWD, path, flags, mode);
}

}  // extern "C"

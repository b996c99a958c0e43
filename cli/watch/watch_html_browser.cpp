#include "cli/watch/watch_html_browser.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "cli/processes/child.hpp"
#include "engine/base/error.hpp"

namespace acid {
namespace {

constexpr std::string_view kSuffix = ".html";  // with another suffix it would open in an editor

[[noreturn]] void cannot_open(const std::string& why) {
  throw Error(fmt::format("cannot open a browser: {}; open the address yourself", why));
}

std::string folder_for_secrets() {
  const char* own = std::getenv("XDG_RUNTIME_DIR");
  return own != nullptr && *own != '\0' ? own : std::filesystem::temp_directory_path().string();
}

/// A file that only this user can read.
std::string write_secret_page(const std::string& text) {
  std::string path = fmt::format("{}/acid-watch-XXXXXX{}", folder_for_secrets(), kSuffix);
  const int file = mkostemps(path.data(), static_cast<int>(kSuffix.size()), O_CLOEXEC);
  if (file < 0) cannot_open(fmt::format("cannot create {}: {}", path, std::strerror(errno)));
  const bool written = write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const std::string why = std::strerror(errno);
  close(file);
  if (written) return path;
  unlink(path.c_str());
  cannot_open(fmt::format("cannot write {}: {}", path, why));
}

// Starts the browser in a session of its own, because it may be this very child and must outlive
// acid.
void start_detached(const std::string& program, const std::string& argument) {
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  for (const int each : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    posix_spawn_file_actions_addopen(&files, each, "/dev/null", O_RDWR, 0);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, ignored_here;
  sigemptyset(&none);
  sigemptyset(&ignored_here);
  sigaddset(&ignored_here, SIGPIPE);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &ignored_here);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  std::string words[] = {program, argument};
  const std::array<char*, 3> arguments{words[0].data(), words[1].data(), nullptr};
  pid_t pid = 0;
  const int failed =
      posix_spawn(&pid, program.c_str(), &files, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  if (failed != 0) cannot_open(fmt::format("{}: {}", program, std::strerror(failed)));
}

}  // namespace

OpenedAddress::OpenedAddress(const std::string& address) {
  const std::string program = find_program("xdg-open");
  if (program.empty()) cannot_open("xdg-open is not installed");
  file_ = write_secret_page(
      fmt::format("<!DOCTYPE html>\n<meta charset=\"utf-8\">\n<meta http-equiv=\"refresh\" "
                  "content=\"0; url={0}\">\n<title>acid watch</title>\n"
                  "<p><a href=\"{0}\">To the page</a></p>\n",
                  address));
  try {
    start_detached(program, file_);
  } catch (const Error&) {
    unlink(file_.c_str());
    throw;
  }
}

OpenedAddress::~OpenedAddress() { unlink(file_.c_str()); }

}  // namespace acid

#include "tests/cli/program.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <iostream>
#include <stdexcept>

#include "engine/base/clock.hpp"
#include "tests/catch.hpp"
#include "tests/waiting.hpp"

namespace acid::test {
namespace fs = std::filesystem;

std::string Folder::write_program(const std::string& name, const std::string& content) const {
  write(name, content);
  fs::permissions(path(name), fs::perms::owner_all);
  return path(name);
}

Running::Running(const Folder& folder, const std::vector<std::string>& arguments,
                 const std::vector<std::string>& more)
    : folder_(&folder), started_(SteadyClock().seconds()) {
  static std::atomic<int> count{0};
  name_ = ".output-" + std::to_string(count++);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  const auto redirect = [&](int descriptor, const std::string& path, int flags) {
    posix_spawn_file_actions_addopen(&files, descriptor, path.c_str(), flags, 0600);
  };
  redirect(STDIN_FILENO, "/dev/null", O_RDONLY);
  redirect(STDOUT_FILENO, folder.path(name_ + ".out"), O_CREAT | O_WRONLY | O_TRUNC);
  redirect(STDERR_FILENO, folder.path(name_ + ".err"), O_CREAT | O_WRONLY | O_TRUNC);
  posix_spawn_file_actions_addchdir_np(&files, folder.path().c_str());

  std::vector<std::string> words{BINARY_ROOT "/acid"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<std::string> variables = more;  // the first of equal names counts
  variables.insert(variables.end(), folder.environment.begin(), folder.environment.end());
  for (char** each = environ; *each != nullptr; ++each)
    if (const std::string variable = *each; variable.rfind("ACID_", 0) != 0)
      variables.push_back(variable);
  const auto pointers = [](std::vector<std::string>& texts) {
    std::vector<char*> list;
    for (std::string& text : texts) list.push_back(text.data());
    list.push_back(nullptr);
    return list;
  };
  const int failed = posix_spawn(&pid_, words[0].c_str(), &files, nullptr, pointers(words).data(),
                                 pointers(variables).data());
  posix_spawn_file_actions_destroy(&files);
  if (failed != 0) throw std::runtime_error("cannot start " + words[0]);
}

std::string Running::out() const { return folder_->read(name_ + ".out"); }

std::string Running::err() const { return folder_->read(name_ + ".err"); }

Result Running::wait() {
  int status = 0;
  rusage usage{};
  if (wait4(pid_, &status, 0, &usage) != pid_) throw std::runtime_error("wait4 failed");
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1,
          folder_->read(name_ + ".out"),
          folder_->read(name_ + ".err"),
          SteadyClock().seconds() - started_,
          WIFSIGNALED(status) ? WTERMSIG(status) : 0,
          acid::cpu_seconds(usage)};
}

bool has_ended(const Running& running) {
  siginfo_t info{};
  const auto id = static_cast<id_t>(running.pid());
  return waitid(P_PID, id, &info, WEXITED | WNOWAIT | WNOHANG) == 0 && info.si_pid == running.pid();
}

bool looks_around(pid_t pid) {
  const auto sleeps = [pid] {
    std::ifstream status("/proc/" + std::to_string(pid) + "/status");
    const std::string field = "voluntary_ctxt_switches:";
    for (std::string line; std::getline(status, line);)
      if (line.rfind(field, 0) == 0) return std::stol(line.substr(field.size()));
    return -1L;  // a zombie has the field, a process that is gone does not
  };
  constexpr long kTimes = 4;
  const long before = sleeps();
  return before >= 0 && comes_true([&] { return sleeps() >= before + kTimes; });
}

std::string Folder::copy_of_store(const std::string& name) const {
  std::filesystem::remove_all(path(name));
  std::filesystem::copy(path("acid-store"), path(name), std::filesystem::copy_options::recursive);
  return path(name);
}

Result Folder::call(const std::vector<std::string>& arguments,
                    const std::vector<std::string>& more) const {
  return Running(*this, arguments, more).wait();
}

Result Folder::done(const std::vector<std::string>& arguments,
                    const std::vector<std::string>& more) const {
  Result result = call(arguments, more);
  INFO(result.out << result.err);
  REQUIRE(result.code == 0);
  return result;
}

nlohmann::json Folder::told(std::vector<std::string> arguments) const {
  arguments.emplace_back("--json");
  return done(arguments).json();
}

void check_ended(const Result& result, int code, const std::vector<std::string>& says) {
  INFO(result.err);
  CHECK(result.code == code);
  for (const std::string& part : says) CHECK_THAT(result.err, ContainsSubstring(part));
}

void check_refused(const Result& result, const std::vector<std::string>& says, int code) {
  check_ended(result, code, says);
  CHECK(result.out.empty());
}

bool there_is_torch() { return std::filesystem::exists(BINARY_ROOT "/acid-torch.so"); }

bool there_is_mpi() {
  const bool found = fs::exists(std::string(BINARY_ROOT) + "/acid-mpi.so") &&
                     std::system("command -v mpirun >/dev/null 2>&1") == 0;
  if (!found) std::cerr << "mpirun or acid-mpi.so is missing: the mpi driver is not tested\n";
  return found;
}

}  // namespace acid::test

#include "cli/processes/child.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>

#include "engine/base/clock.hpp"
#include "engine/base/error.hpp"
#include "engine/base/module.hpp"
#include "engine/base/worker_words.hpp"

namespace acid {
namespace {

constexpr std::size_t kKeptOutput = 64 * 1024;
constexpr const char* kParentVariable = "ACID_PARENT_PID";

// The remedy when a process or a pipe cannot be made.
const char* remedy(int error) {
  switch (error) {
    case EAGAIN:
    case ENOMEM:
      return "there are too many processes (ulimit -u) or too little memory; use a smaller --jobs";
    case EMFILE:
    case ENFILE:
      return "raise the limit on open files (ulimit -n) or use a smaller --jobs";
    default:
      return "see that it is there and can be executed";
  }
}

// The variables of this process, the added ones, and this process's number as ACID_PARENT_PID.
std::vector<std::string> environment_of_child(std::vector<std::string> variables) {
  variables.push_back(fmt::format("{}={}", kParentVariable, getpid()));
  const std::size_t added = variables.size();
  const auto is_added = [&](std::string_view variable) {
    const std::string_view name = variable.substr(0, variable.find('=') + 1);
    return std::any_of(variables.begin(), variables.begin() + static_cast<std::ptrdiff_t>(added),
                       [&](const std::string& each) { return each.starts_with(name); });
  };
  for (char** each = environ; *each != nullptr; ++each)
    if (!is_added(*each)) variables.emplace_back(*each);
  return variables;
}

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// `pipe_end`: where the child writes what `output` says is kept. `channel_end`: −1: it has none.
pid_t spawn(const Command& command, Child::Output output, int pipe_end, int channel_end) {
  const std::vector<std::string>& arguments = command.arguments;
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, pipe_end, STDOUT_FILENO);
  if (output == Child::Output::last_words)
    posix_spawn_file_actions_adddup2(&files, pipe_end, STDERR_FILENO);
  if (channel_end >= 0) posix_spawn_file_actions_adddup2(&files, channel_end, kMoreRuns);

  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  sigdelset(&all, SIGHUP);  // what nohup asked for also holds for the child
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);

  const std::vector<std::string> variables = environment_of_child(command.environment);
  pid_t pid = -1;
  const int failed = posix_spawnp(&pid, arguments[0].c_str(), &files, &attributes,
                                  pointers_to(arguments).data(), pointers_to(variables).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  if (failed != 0)
    throw Error(fmt::format("cannot start {}: {}; {}", arguments[0], std::strerror(failed),
                            remedy(failed)));
  return pid;
}

}  // namespace

Child::Child(const Command& command, Output output)
    : kept_(output),
      stop_signal_(command.stop_signal),
      outlived_by_children_(command.outlived_by_children) {
  const auto made = [&](auto make) {
    std::array<int, 2> ends{-1, -1};
    if (make(ends.data()) != 0)
      throw Error(fmt::format("cannot start {}: cannot make a pipe: {}; {}", command.arguments[0],
                              std::strerror(errno), remedy(errno)));
    return std::pair(Descriptor(ends[0]), Descriptor(ends[1]));
  };
  Descriptor pipe_end, channel_end;
  std::tie(output_, pipe_end) = made([](int* ends) { return pipe2(ends, O_CLOEXEC); });
  if (command.takes_more)
    std::tie(channel_, channel_end) =
        made([](int* ends) { return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends); });
  fcntl(output_.get(), F_SETFL, O_NONBLOCK);
  pid_ = spawn(command, output, pipe_end.get(), channel_end.get());
}

Child::~Child() {
  if (pid_ <= 0 || status_) return;
  kill(pid_, SIGKILL);
  int ignored = 0;
  uninterrupted([&] { return waitpid(pid_, &ignored, 0); });
}

Child::Child(Child&& other) noexcept
    : kept_(other.kept_),
      stop_signal_(other.stop_signal_),
      outlived_by_children_(other.outlived_by_children_),
      had_children_(other.had_children_),
      accompanied_(other.accompanied_),
      pid_(std::exchange(other.pid_, -1)),
      output_(std::move(other.output_)),
      channel_(std::move(other.channel_)),
      text_(std::move(other.text_)),
      status_(other.status_),
      cpu_seconds_(other.cpu_seconds_) {}

void Child::read_output() {
  std::array<char, 4096> buffer{};
  while (output_) {
    const ssize_t count =
        uninterrupted([&] { return read(output_.get(), buffer.data(), buffer.size()); });
    if (count < 0 && errno == EAGAIN) break;
    if (count > 0)
      text_.append(buffer.data(), static_cast<std::size_t>(count));
    else
      output_.close();
  }
  if (kept_ == Output::last_words && text_.size() > kKeptOutput)
    text_.erase(0, text_.size() - kKeptOutput);
}

std::optional<std::string> Child::heard() {
  std::array<char, 64> message{};
  const ssize_t count = recv(channel_.get(), message.data(), message.size(), MSG_DONTWAIT);
  if (count == 0) hang_up();  // the process has ended, or closed its standard input
  if (count <= 0) return std::nullopt;
  return std::string(message.data(), static_cast<std::size_t>(count));
}

bool Child::tell(const std::string& message) {
  return send(channel_.get(), message.data(), message.size(), MSG_DONTWAIT | MSG_NOSIGNAL) ==
         static_cast<ssize_t>(message.size());
}

// A moved-from child has no process, and −1 would mean all of them.
void Child::signal(int number) {
  if (pid_ > 0 && !status()) kill(pid_, number);
}

void Child::signal_all(int number) {
  if (pid_ > 0 && !status()) kill(-pid_, number);
}

double Child::seconds_alone(double now) {
  if (outlived_by_children_) return 0;
  constexpr double kPatienceAtFirst = 30;
  const bool first_look = accompanied_ < 0;
  bool accompanied = false;
  std::error_code gone;
  for (std::filesystem::directory_iterator task(fmt::format("/proc/{}/task", pid_), gone), end;
       !gone && task != end; task.increment(gone)) {
    std::ifstream children(task->path() / "children");
    accompanied = accompanied || !children || children.peek() != std::ifstream::traits_type::eof();
  }
  had_children_ = had_children_ || accompanied;
  if (accompanied || gone || first_look) accompanied_ = now;
  return (now - accompanied_) / (had_children_ ? 1 : kPatienceAtFirst);
}

std::optional<int> Child::status() {
  if (status_ || pid_ <= 0) return status_;
  int status = 0;
  rusage used{};
  if (wait4(pid_, &status, WNOHANG, &used) == pid_) {
    status_ = status;
    cpu_seconds_ = acid::cpu_seconds(used);
    read_output();  // other processes that hold the pipe open are not waited for
  }
  return status_;
}

Captured capture(const std::vector<std::string>& arguments, double timeout_seconds,
                 const std::vector<std::string>& environment) {
  try {
    Command command(arguments);
    command.environment = environment;
    Child child(command);
    const SteadyClock clock;
    const double deadline = clock.seconds() + timeout_seconds;
    while (clock.seconds() < deadline) {
      if (const auto status = child.status())
        return {WIFEXITED(*status) && WEXITSTATUS(*status) == 0, child.output(),
                child.cpu_seconds()};
      // After the output is closed there is nothing to poll: the pause is until the process is
      // reaped.
      pollfd waited{child.output_descriptor(), POLLIN, 0};
      poll(&waited, 1, child.output_descriptor() >= 0 ? 50 : 5);
      child.read_output();
    }
  } catch (const Error&) {  // the program is not installed
  }
  return {};
}

std::string find_program(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string candidate = (folder.empty() ? "." : folder) + "/" + name;
    std::error_code ignored;
    if (access(candidate.c_str(), X_OK) == 0 && !std::filesystem::is_directory(candidate, ignored))
      return candidate;
  }
  return {};
}

std::string signal_text(int number) {
  const char* name = sigabbrev_np(number);
  return name != nullptr ? fmt::format("SIG{}", name) : fmt::format("signal {}", number);
}

std::string status_text(int status) {
  if (WIFSIGNALED(status)) return signal_text(WTERMSIG(status));
  return fmt::format("exit code {}", WEXITSTATUS(status));
}

std::string worker_program() {
  const char* environment = std::getenv("ACID_WORKER");
  const bool given = environment != nullptr && *environment != '\0';
  const std::string path = given ? environment : program_folder() + "/acid-worker";
  if (access(path.c_str(), X_OK) != 0)
    throw Error(fmt::format("cannot execute {}: {}; {}", path, std::strerror(errno),
                            given ? "correct ACID_WORKER or unset it"
                                  : "build the target acid-worker, or name it in ACID_WORKER"));
  return path;
}

}  // namespace acid

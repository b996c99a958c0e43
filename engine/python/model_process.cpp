#include "engine/python/model_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <regex>
#include <thread>
#include <utility>
#include <vector>

#include "engine/base/clock.hpp"
#include "engine/base/error.hpp"
#include "engine/base/module.hpp"

extern char** environ;

namespace acid {
namespace {

using nlohmann::json;

constexpr int kProtocol = 1;
constexpr std::size_t kReadAtOnce = 1 << 16;
constexpr double kSecondsToEnd = 2;
constexpr double kSecondsToClear = 5;          // in which its keepers end all that it started
constexpr std::uint32_t kMostBytes = 1 << 26;  // of an answer
constexpr double kSecondsToSay = 0.5;          // for a late process to say where it is

// Variables that libraries read when they are loaded: thread counts, and settings for reproducible
// sums.
std::vector<std::string> environment_of_process(int threads) {
  std::vector<std::string> own = {"PYTHONHASHSEED=0", "PYTHONDONTWRITEBYTECODE=1",
                                  "CUBLAS_WORKSPACE_CONFIG=:4096:8", "MKL_DYNAMIC=FALSE",
                                  "OMP_DYNAMIC=FALSE"};
  for (const char* name : {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS",
                           "NUMEXPR_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"})
    own.push_back(fmt::format("{}={}", name, threads));
  std::vector<std::string> all = own;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string_view text = *each;
    const std::string_view name = text.substr(0, text.find('=') + 1);
    if (std::ranges::none_of(own, [&](const std::string& one) { return one.starts_with(name); }))
      all.emplace_back(text);
  }
  return all;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (std::string& text : texts) all.push_back(text.data());
  all.push_back(nullptr);
  return all;
}

/// "model.py:12: in loss(): RuntimeError: …", the line itself, and the calls that led there.
std::string message_of(const json& error) {
  std::string text = error.value("file", "");
  if (error.value("line", 0) > 0) text += fmt::format(":{}", error.value("line", 0));
  if (const std::string function = error.value("function", "");
      !function.empty() && function != "<module>")
    text += fmt::format(": in {}()", function);
  text += ": " + error.value("message", "it failed and did not say why");
  if (const std::string source = error.value("source", ""); !source.empty())
    text += "\n    " + source;
  if (const std::string trace = error.value("traceback", "");
      std::ranges::count(trace, '\n') > 2)  // otherwise the line above is the whole trace
    text += "\nwhich was reached by\n" + trace;
  return text;
}

/// Parses JSON; discarded when the text is none. Invalid UTF-8 in texts is replaced.
json parsed(const std::string& text) {
  json found = json::parse(text, nullptr, false);
  if (!found.is_discarded()) return found;
  const std::string valid =
      json::parse(json(text).dump(-1, ' ', false, json::error_handler_t::replace));
  static const std::regex half("\\\\u[dD][89a-fA-F][0-9a-fA-F]{2}");  // half of a surrogate pair
  return json::parse(std::regex_replace(valid, half, "?"), nullptr, false);
}

/// Whether something outside probably ended the process, not a mistake in the user's file.
bool was_killed(int status) {
  if (!WIFSIGNALED(status)) return false;
  constexpr std::array kOwnFaults = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGSYS, SIGTRAP};
  return std::ranges::find(kOwnFaults, WTERMSIG(status)) == kOwnFaults.end();
}

std::string words_for(const json& request) {
  const std::string what = request.value("do", "");
  if (what == "gradient")
    return fmt::format("gradient {} of worker {}", request.value("step", 0),
                       request.value("worker", 0));
  return what == "evaluate" ? "an evaluation" : what == "start" ? "its start" : "an answer";
}

}  // namespace

ModelProcess::ModelProcess(const json& options, const SharedMemory& memory, int threads,
                           std::string address)
    : file_(text(options, "file")),
      interpreter_(text(options, "interpreter")),
      timeout_seconds_(number(options, "timeout_seconds")),
      memory_(memory),
      threads_(threads),
      address_(std::move(address)),
      words_(::memfd_create("acid words", MFD_CLOEXEC)) {
  start(options);
}

ModelProcess::~ModelProcess() {
  if (pid_ < 0) return;
  try {
    if (asked_.is_null()) send({{"do", "end"}});
    end(asked_.value("do", "") == "end" ? kSecondsToEnd : 0);
  } catch (const std::exception&) {
    end(0);
  }
}

void ModelProcess::start(const json& options) {
  int sockets[2], pipe[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0)
    throw Error(
        fmt::format("cannot make a socket for a model's process: {}; raise the limit on "
                    "open files (ulimit -n)",
                    std::strerror(errno)));
  socket_ = Descriptor(sockets[0]);
  far_socket_ = Descriptor(sockets[1]);
  if (::pipe2(pipe, O_CLOEXEC) != 0)
    throw Error(fmt::format("cannot make a pipe for a model's process: {}", std::strerror(errno)));
  far_lifeline_ = Descriptor(pipe[0]);
  lifeline_ = Descriptor(pipe[1]);
  if (address_.empty()) {
    ModelTemplates::prepare(options, threads_);
    fork_ = ask_for_fork(options, threads_,
                         {far_socket_.get(), memory_.descriptor(), far_lifeline_.get(),
                          words_.get(), STDERR_FILENO});
  }
  if (fork_.answers)
    pid_ = 0;
  else
    spawn();
}

void ModelProcess::spawn() {
  std::vector<std::string> command = {interpreter_, model_program()};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  const Descriptor kept(address_.empty() ? -1 : ::memfd_create("acid output", MFD_CLOEXEC));
  if (kept) posix_spawn_file_actions_adddup2(&actions, kept.get(), STDERR_FILENO);
  // Standard output goes to standard error: it is for the user.
  posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  for (const int each :
       {far_socket_.get(), memory_.descriptor(), far_lifeline_.get(), words_.get()}) {
    posix_spawn_file_actions_adddup2(&actions, each, each);  // so that it stays open there
    command.push_back(std::to_string(each));
  }
  if (!address_.empty()) command.push_back(address_);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  // A session of its own: a terminal's Ctrl-C is for acid, which finishes the gradient in hand.
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
  std::vector<std::string> variables = environment_of_process(threads_);
  const int failure = ::posix_spawnp(&pid_, interpreter_.c_str(), &actions, &attributes,
                                     pointers(command).data(), pointers(variables).data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  far_socket_.close();
  far_lifeline_.close();
  if (failure == 0) {
    has_ended_ = Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
    return;
  }
  pid_ = -1;
  throw Error(fmt::format("cannot start '{}' for {}: {}; set interpreter to a Python that is there",
                          interpreter_, file_, std::strerror(failure)));
}

// A template has forked the process, or cannot: then this process starts one, which finds what was
// asked already.
void ModelProcess::learn_of_fork() {
  pid_ = fork_.id();
  if (pid_ == 0) {
    fork_ = {};
    return spawn();
  }
  far_socket_.close();
  far_lifeline_.close();
}

bool ModelProcess::has_message() const {
  pollfd wait{socket_.get(), POLLIN, 0};
  return ::poll(&wait, 1, 0) > 0;
}

json ModelProcess::ask(const json& request) {
  send(request);
  return receive();
}

void ModelProcess::send(const json& request) {
  asked_ = request;
  deadline_ = steady_clock().seconds() + timeout_seconds_;
  const std::string text = request.dump();
  const auto length = static_cast<std::uint32_t>(text.size());
  std::string frame(sizeof length, '\0');
  std::memcpy(frame.data(), &length, sizeof length);
  frame += text;
  for (std::size_t sent = 0; sent < frame.size();) {
    wait_for(POLLOUT);
    const ssize_t some = uninterrupted([&] {
      return ::send(socket_.get(), frame.data() + sent, frame.size() - sent,
                    MSG_NOSIGNAL | MSG_DONTWAIT);
    });
    if (some < 0 && errno == EAGAIN) continue;
    if (some < 0) fail_dead();
    sent += static_cast<std::size_t>(some);
  }
}

json ModelProcess::receive() {
  std::uint32_t length = 0;
  read_exactly(reinterpret_cast<char*>(&length), sizeof length);
  if (length > kMostBytes)
    fail_answer(
        fmt::format("it announced {} bytes, and acid reads {} at most", length, kMostBytes));
  std::string text;  // grows with what arrives
  for (std::size_t have = 0; have < length; have = text.size()) {
    text.resize(std::min<std::size_t>(length, have + kReadAtOnce));
    read_exactly(text.data() + have, text.size() - have);
  }
  const json answer = parsed(text);
  asked_ = nullptr;
  if (!answer.is_object()) fail_answer("it is no JSON object");
  if (answer.contains("error")) {
    const auto [words, of_values] = understand([&] {
      return std::pair(message_of(answer["error"]), answer["error"].value("of_values", false));
    });
    if (of_values) throw ModelValuesError(words);
    throw Error(words);
  }
  has_answered_ = true;
  return answer;
}

void ModelProcess::read_exactly(char* to, std::size_t bytes) {
  while (bytes > 0) {
    wait_for(POLLIN);
    const ssize_t some = uninterrupted([&] { return ::recv(socket_.get(), to, bytes, 0); });
    if (some <= 0) fail_dead();
    to += some;
    bytes -= static_cast<std::size_t>(some);
  }
}

// Waits until the socket can be read or written. When the process has ended, another process may
// still hold the socket's other end open.
void ModelProcess::wait_for(short events) {
  while (true) {
    const int end = fork_.answers ? fork_.answers.get() : has_ended_.get();
    std::array<pollfd, 2> waits = {{{socket_.get(), events, 0}, {end, POLLIN, 0}}};
    const double left = std::clamp((deadline_ - steady_clock().seconds()) * 1000, 0.0, 1e9);
    const int ready =
        uninterrupted([&] { return ::poll(waits.data(), waits.size(), static_cast<int>(left)); });
    if (ready == 0) fail_late();
    if (pid_ == 0 && waits[1].revents != 0) {
      learn_of_fork();
      continue;
    }
    if (waits[0].revents == 0) fail_dead();
    return;
  }
}

// The process writes where each thread is when a signal asks for it, and when it crashes: lines of
// the form '  File "model.py", line 12 in loss', the innermost first.
std::string ModelProcess::was_at() const {
  std::string text(4096, '\0');
  text.resize(static_cast<std::size_t>(
      std::max<ssize_t>(0, ::pread(words_.get(), text.data(), text.size(), 0))));
  static const std::regex frame("  File \"([^\"\n]+)\", line (\\d+) in ([^\n]+)");
  const std::string folder = std::filesystem::path(file_).parent_path().string();
  for (std::sregex_iterator each(text.begin(), text.end(), frame), last; each != last; ++each)
    if ((*each)[1].str().starts_with(folder + "/"))
      return fmt::format("; it was at {}:{}: in {}()", (*each)[1].str(), (*each)[2].str(),
                         (*each)[3].str());
  return {};
}

void ModelProcess::fail_late() {
  ::kill(pid_ > 0 ? pid_ : fork_.template_id, SIGQUIT);
  if (pid_ == 0)  // the template still executes the file
    words_ = Descriptor(::open((fork_.address + ".words").c_str(), O_RDONLY | O_CLOEXEC));
  std::this_thread::sleep_for(std::chrono::duration<double>(kSecondsToSay));
  const std::string place = was_at();
  const std::string what = words_for(asked_);
  end(0);
  throw Error(fmt::format("{}: {} took longer than timeout_seconds = {}{}", file_, what,
                          timeout_seconds_, place));
}

void ModelProcess::fail_dead() {
  const std::string what = words_for(asked_);
  char first = 0;
  const bool began = has_answered_ || ::pread(words_.get(), &first, 1, 0) == 1;
  const int status = end(kSecondsToEnd);
  const std::string how = WIFSIGNALED(status) ? fmt::format("signal {} ({})", WTERMSIG(status),
                                                            ::strsignal(WTERMSIG(status)))
                                              : fmt::format("exit code {}", WEXITSTATUS(status));
  if (!began && !was_killed(status))
    throw Error(
        fmt::format("'{}' ended with {} before it executed a line for {}: set interpreter "
                    "to a Python, version 3.9 or newer",
                    interpreter_, how, file_));
  throw Error(fmt::format("{}: its process ended with {} during {}{}", file_, how, what, was_at()),
              has_answered_ || was_killed(status) ? Exit::lost : Exit::run_failed);
}

// What comes after such an answer may belong to any request.
void ModelProcess::fail_answer(const std::string& how) {
  end(0);
  throw Error(
      fmt::format("the process of {} gave no answer that docs/GRADIENT_PROCESS.md speaks "
                  "of: {}; nothing but the program that acid starts may write to its socket",
                  file_, how));
}

// The status of waitpid(), once the process has ended; absent if it has not within this time.
std::optional<int> ModelProcess::status_within(double seconds) {
  if (fork_.answers) return fork_.status_within(seconds);
  const double deadline = steady_clock().seconds() + seconds;
  int status = 0;
  for (double pause = 0.0005; uninterrupted([&] { return ::waitpid(pid_, &status, WNOHANG); }) == 0;
       pause = std::min(2 * pause, 0.02)) {
    if (steady_clock().seconds() >= deadline) return std::nullopt;
    std::this_thread::sleep_for(std::chrono::duration<double>(pause));
  }
  return status;
}

// Waits for the process to end, and kills it after that time. Returns the status of waitpid().
int ModelProcess::end(double patience_seconds) {
  if (pid_ <= 0) {  // a template that answers later finds no lifeline
    lifeline_.close();
    fork_ = {};
    pid_ = -1;
    return 0;
  }
  std::optional<int> status = status_within(patience_seconds);
  lifeline_.close();
  socket_.close();
  if (!status) status = status_within(kSecondsToClear);
  if (!status) {  // not a program of acid's, or a stopped one
    ::kill(-pid_, SIGKILL);
    status = status_within(kSecondsToEnd);
  }
  pid_ = -1;
  return status.value_or(0);
}

std::string model_program() { return program_folder() + "/acid_model.py"; }

json start_request(const json& options, const SharedMemory& memory, std::uint64_t seed,
                   int threads) {
  return {{"do", "start"},
          {"protocol", kProtocol},
          {"memory_bytes", memory.bytes()},
          {"threads", threads},
          {"seed", seed},
          {"file", options.at("file")},
          {"options", options.at("options")},
          {"data", nullptr}};
}

json describe_dataset(const json& options) {
  const SharedMemory memory;
  json request = start_request(options, memory, 0, 1);
  request["data"] = {
      {"file", options.at("file")}, {"options", options.at("options")}, {"survey", true}};
  request["file"] = nullptr;
  return ModelProcess(options, memory, 1).ask(request);
}

}  // namespace acid

#include "cli/processes/supervisor.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "engine/base/signals.hpp"

namespace acid {
namespace {

constexpr double kSecondsBetweenRequests = 1;

sigset_t watched_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGXCPU, SIGPIPE, SIGCHLD})
    sigaddset(&set, number);
  return set;
}

void end_interrupted(int) { _exit(static_cast<int>(Exit::interrupted)); }

}  // namespace

Supervisor::Supervisor() : hangup_counts_(!ignored(SIGHUP)) {
  const sigset_t set = watched_signals();
  signals_ = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  if (signals_ < 0) throw Error(fmt::format("cannot watch signals: {}", std::strerror(errno)));
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

Supervisor::~Supervisor() {
  children_.clear();
  waiting_.clear();
  read_signals();  // a signal that was handled must not take effect again when it is unblocked
  close(signals_);
  // A signal that comes later must not change how an interrupted command ends, either.
  if (interrupted_)
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGXCPU})
      if (!ignored(number)) std::signal(number, end_interrupted);
  const sigset_t set = watched_signals();
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

void Supervisor::start(const std::string& name, const Command& command, Child::Output output) {
  const bool is_new = children_.emplace(name, Child(command, output)).second;
  ACID_ASSERT(is_new, "worker {} was started twice", name);
}

bool Supervisor::hand_on(const std::string& name, const std::string& message) {
  for (auto child = waiting_.begin(); child != waiting_.end(); ++child) {
    if (child->status() || !child->tell(message)) continue;
    const bool is_new = children_.emplace(name, std::move(*child)).second;
    ACID_ASSERT(is_new, "worker {} was started twice", name);
    waiting_.erase(child);
    return true;
  }
  return false;
}

void Supervisor::dismiss_waiting() {
  for (Child& child : waiting_) child.hang_up();
}

std::vector<std::string> Supervisor::running() const {
  std::vector<std::string> names;
  for (const auto& [name, child] : children_) names.push_back(name);
  return names;
}

std::vector<Supervisor::Ending> Supervisor::wait(int timeout_milliseconds) {
  std::vector<pollfd> waited{{signals_, POLLIN, 0}};
  for (const auto& [name, child] : children_)
    for (const int descriptor : {child.output_descriptor(), child.channel()})
      if (descriptor >= 0) waited.push_back({descriptor, POLLIN, 0});
  poll(waited.data(), waited.size(), timeout_milliseconds);
  read_signals();
  ask_again();
  end_what_is_alone();

  std::vector<Ending> endings;
  for (auto entry = children_.begin(); entry != children_.end();) {
    Child& child = entry->second;
    const auto code = child.heard();
    child.read_output();  // the process writes before it says that it is done
    if (code) {
      const int status = W_EXITCODE(std::atoi(code->c_str()), 0);
      endings.push_back({entry->first, child.pid(), status, child.take_output()});
      waiting_.push_back(std::move(child));
      entry = children_.erase(entry);
    } else if (const auto status = child.status()) {
      endings.push_back({entry->first, child.pid(), *status, child.output()});
      entry = children_.erase(entry);
    } else {
      ++entry;
    }
  }
  std::erase_if(waiting_, [](Child& child) { return child.status().has_value(); });
  return endings;
}

Supervisor::Ending Supervisor::run(const std::string& name, const Command& command,
                                   Child::Output output) {
  start(name, command, output);
  std::vector<Ending> ended;
  while (ended.empty()) ended = wait(-1);
  return std::move(ended.front());
}

std::optional<Exit> Supervisor::Ending::exit() const {
  if (!WIFEXITED(status)) return std::nullopt;
  return static_cast<Exit>(WEXITSTATUS(status));
}

template <class Visit>
void Supervisor::for_each_child(const Visit& visit) {
  for (auto& [name, child] : children_) visit(child);
  for (Child& child : waiting_) visit(child);
}

void Supervisor::signal_all(const std::string& name, int number) {
  children_.at(name).signal_all(number);
}

void Supervisor::stop() {
  stopping_ = true;
  asked_ = clock_.seconds();
  for_each_child([](Child& child) { child.signal(child.stop_signal()); });
}

// Repeats the request to those that need it, when some time has passed since the last one.
void Supervisor::ask_again() {
  if (!stopping_ || clock_.seconds() < asked_ + kSecondsBetweenRequests) return;
  asked_ = clock_.seconds();
  for (auto& [name, child] : children_)
    if (child.stop_signal() != SIGTERM) child.signal(child.stop_signal());
}

void Supervisor::end_what_is_alone() {
  constexpr double kSeconds = 10;
  for (auto& [name, child] : children_)
    if (child.seconds_alone(clock_.seconds()) > kSeconds) child.signal(SIGKILL);
}

void Supervisor::stop_and_wait(double seconds) {
  stop();
  const double deadline = clock_.seconds() + seconds;
  for (double left = seconds; !empty() && left > 0; left = deadline - clock_.seconds())
    wait(static_cast<int>(std::ceil(std::min(left, kSecondsBetweenRequests) * 1000)));
}

void Supervisor::read_signals() {
  signalfd_siginfo info{};
  while (read(signals_, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
    const int number = static_cast<int>(info.ssi_signo);
    if (number == SIGCHLD || number == SIGPIPE) continue;  // SIGCHLD only ends the wait
    if (number == SIGHUP && !hangup_counts_) continue;
    if (interrupted_ && number == SIGINT) {
      for_each_child([](Child& child) { child.signal(SIGKILL); });
    } else if (!interrupted_) {
      interrupted_ = true;
      stop();
    }
  }
}

}  // namespace acid

#include "bench/interruption.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <ctime>
#include <set>

#include "bench/programs.hpp"

namespace acid::bench {
namespace {

constexpr int kEnd = SIGUSR2;                     // tells the watching thread to end
constexpr timespec kBetweenLooks{0, 50'000'000};  // for children that are started later
std::atomic<bool> signal_came{false};

bool is_ignored(int signal) {
  struct sigaction action {};
  sigaction(signal, nullptr, &action);
  return action.sa_handler == SIG_IGN;
}

}  // namespace

void throw_if_interrupted() {
  if (signal_came) throw Interrupted();
}

Interruption::Interruption() {
  sigemptyset(&signals_);
  sigaddset(&signals_, kEnd);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP})
    if (!is_ignored(signal)) sigaddset(&signals_, signal);
  pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
  thread_ = std::thread([this] { watch(); });
}

Interruption::~Interruption() {
  ending_ = true;
  pthread_kill(thread_.native_handle(), kEnd);
  thread_.join();
}

void Interruption::watch() {
  int signal = 0;
  while (signal == 0 || (signal == kEnd && !ending_)) sigwait(&signals_, &signal);
  if (signal == kEnd) return;
  signal_came = true;
  // Each child is signalled once: some end at once, without cleaning up, at a second signal.
  for (std::set<pid_t> told; !ending_; sigtimedwait(&signals_, nullptr, &kBetweenLooks))
    for (const pid_t child : children_of(getpid()))
      if (told.insert(child).second) kill(child, SIGTERM);
}

}  // namespace acid::bench

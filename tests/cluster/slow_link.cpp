// A slow link between two network namespaces, in user space: for kernels without netem, and the
// same everywhere. Creates a TAP device in each namespace and carries Ethernet frames between them
// with the requested latency, bandwidth and loss, the same in both directions, until SIGTERM or
// SIGINT. Needs the rights of root in both.
//   acid_slow_link [--latency-seconds S] [--bandwidth-bytes-per-second B] [--loss SHARE]
//                  [--queue-bytes BYTES] [--seed N] NAMESPACE/DEVICE NAMESPACE/DEVICE
// Connections take turns on it, as they do on hosts of Linux.
// A namespace is given by its file, such as /proc/4711/ns/net. Writes "ready" to standard output
// once the devices exist; they are still down then.
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/clock.hpp"
#include "engine/base/error.hpp"
#include "tests/cluster/delay_line.hpp"

namespace {

using acid::Error;
using acid::UsageError;
using acid::test::DelayLine;
using acid::test::Frame;
using acid::test::LineModel;

constexpr std::size_t kLongestFrame = 65536;

int checked(int result, const std::string& what) {
  if (result < 0) throw Error(fmt::format("{}: {}", what, std::strerror(errno)));
  return result;
}

struct Options {
  LineModel line;
  std::uint64_t seed = 1;
  std::vector<std::string> ends;  // FILE OF A NAMESPACE/DEVICE
};

double number(const std::string& name, const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || value < 0)
    throw UsageError(fmt::format("{} needs a number that is not negative, not '{}'", name, text));
  return value;
}

Options parse(const std::vector<std::string>& arguments) {
  Options options;
  double seed = 1;
  const std::map<std::string, double*> numbers = {
      {"--latency-seconds", &options.line.latency_seconds},
      {"--bandwidth-bytes-per-second", &options.line.bandwidth_bytes_per_second},
      {"--loss", &options.line.loss},
      {"--queue-bytes", &options.line.queue_bytes},
      {"--seed", &seed}};
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const auto found = numbers.find(arguments[i]);
    if (found == numbers.end())
      options.ends.push_back(arguments[i]);
    else
      *found->second = number(found->first, i + 1 < arguments.size() ? arguments[++i] : "");
  }
  options.seed = static_cast<std::uint64_t>(seed);
  if (options.ends.size() != 2)
    throw UsageError("acid_slow_link joins two ends: NAMESPACE/DEVICE NAMESPACE/DEVICE");
  if (options.line.bandwidth_bytes_per_second == 0)
    throw UsageError("--bandwidth-bytes-per-second must be above 0; leave it out for no limit");
  return options;
}

void enter(const std::string& path) {
  const int space = checked(open(path.c_str(), O_RDONLY | O_CLOEXEC), path);
  checked(setns(space, CLONE_NEWNET), "enter " + path);
  close(space);
}

// Creates the TAP device of one end. This process then stays in that namespace.
int open_end(const std::string& end) {
  const std::size_t slash = end.rfind('/');
  if (slash == std::string::npos || end.size() - slash - 1 >= IFNAMSIZ)
    throw UsageError(fmt::format("'{}' is not NAMESPACE/DEVICE", end));
  enter(end.substr(0, slash));
  const int tap = checked(open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC), "/dev/net/tun");
  ifreq request{};
  request.ifr_flags = IFF_TAP | IFF_NO_PI;
  end.copy(request.ifr_name, IFNAMSIZ - 1, slash + 1);
  checked(ioctl(tap, TUNSETIFF, &request), "create the device " + end);
  return tap;
}

// The connection that an Ethernet frame belongs to; 0: none.
std::uint64_t flow_of(std::span<const std::byte> frame) {
  constexpr std::size_t kEthernet = 14, kProtocol = kEthernet + 9, kTcp = 6;
  const auto at = [&](std::size_t place) {
    return place < frame.size() ? std::to_integer<std::uint64_t>(frame[place]) : 0;
  };
  if (at(12) != 0x08 || at(13) != 0x00 || at(kProtocol) != kTcp) return 0;
  const std::size_t ports = kEthernet + 4 * (at(kEthernet) & 15);
  return at(ports) << 24 | at(ports + 1) << 16 | at(ports + 2) << 8 | at(ports + 3);
}

int open_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  return checked(signalfd(-1, &set, SFD_CLOEXEC), "signalfd");
}

class Link {
 public:
  explicit Link(const Options& options)
      : taps_{open_end(options.ends[0]), open_end(options.ends[1])},
        lines_{DelayLine(options.line, 2 * options.seed),
               DelayLine(options.line, 2 * options.seed + 1)},
        signals_(open_signals()),
        timer_(checked(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC), "timerfd")),
        poll_(checked(epoll_create1(EPOLL_CLOEXEC), "epoll")) {
    for (const int file : {taps_[0], taps_[1], signals_, timer_}) {
      epoll_event event{};
      event.events = EPOLLIN;
      event.data.fd = file;
      checked(epoll_ctl(poll_, EPOLL_CTL_ADD, file, &event), "epoll");
    }
  }
  ~Link() {
    for (const int file : {poll_, timer_, signals_, taps_[0], taps_[1]}) close(file);
  }
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  void carry() {
    for (;;) {
      std::array<epoll_event, 4> events{};
      const int count = epoll_wait(poll_, events.data(), static_cast<int>(events.size()), -1);
      if (count < 0 && errno != EINTR) checked(count, "epoll");
      for (int k = 0; k < count; ++k) {
        const int file = events[static_cast<std::size_t>(k)].data.fd;
        if (file == signals_) return;
        if (file == taps_[0]) collect(0);
        if (file == taps_[1]) collect(1);
      }
      deliver(0);
      deliver(1);
      set_timer();
    }
  }

 private:
  // Puts the frames that an end sends on its line. Not all of them at once, since the other end has
  // its turn, too.
  void collect(std::size_t end) {
    constexpr int kAtOnce = 64;
    std::array<std::byte, kLongestFrame> buffer;
    for (int k = 0; k < kAtOnce; ++k) {
      const ssize_t size = read(taps_[end], buffer.data(), buffer.size());
      if (size <= 0) return;
      Frame frame(buffer.data(), buffer.data() + size);
      const std::uint64_t flow = flow_of(frame);
      lines_[end].send(clock_.seconds(), std::move(frame), flow);
    }
  }

  // Delivers the frames that have arrived. A frame that the device refuses is lost, as on any link.
  void deliver(std::size_t end) {
    while (const auto frame = lines_[end].receive(clock_.seconds()))
      if (write(taps_[1 - end], frame->data(), frame->size()) < 0 && errno == EBADFD)
        checked(-1, "write to a device");
  }

  void set_timer() {
    itimerspec alarm{};
    double next = INFINITY;
    for (const DelayLine& line : lines_) next = std::min(next, line.next_arrival().value_or(next));
    if (std::isfinite(next)) {
      const double left = std::max(next - clock_.seconds(), 1e-9);  // 0 would stop the timer
      alarm.it_value.tv_sec = static_cast<time_t>(left);
      alarm.it_value.tv_nsec = static_cast<long>((left - std::floor(left)) * 1e9) + 1;
      alarm.it_value.tv_nsec = std::min(alarm.it_value.tv_nsec, 999'999'999L);
    }
    checked(timerfd_settime(timer_, 0, &alarm, nullptr), "timerfd");  // also forgets what was due
  }

  const acid::SteadyClock clock_;
  const std::array<int, 2> taps_;
  std::array<DelayLine, 2> lines_;  // from taps_[k] to the other
  const int signals_, timer_, poll_;
};

}  // namespace

int main(int count, char** words) {
  try {
    Link link(parse({words + 1, words + count}));
    std::puts("ready");
    std::fflush(stdout);
    link.carry();
    return 0;
  } catch (const Error& error) {
    std::fprintf(stderr, "acid_slow_link: %s\n", error.what());
    return static_cast<int>(error.code());
  }
}

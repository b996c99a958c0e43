#include "engine/transport/listener.hpp"

#include <arpa/inet.h>
#include <fmt/ranges.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <charconv>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "engine/base/host_name.hpp"

namespace acid {
namespace {

struct PortRange {
  int first = 0;
  int last = 0;
};

std::optional<int> parse_port(const std::string& text) {
  int port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (port < 1 || port > 65535) return std::nullopt;
  return port;
}

PortRange parse_ports(const std::string& text) {
  if (text.empty()) return {};
  const std::size_t dash = text.find('-');
  const auto first = parse_port(text.substr(0, dash));
  const auto last = dash == std::string::npos ? first : parse_port(text.substr(dash + 1));
  if (!first || !last || *first > *last) {
    throw UsageError(fmt::format(
        "'{}' is no range of ports; write for example \"20000-20100\", between 1 and 65535", text));
  }
  return {*first, *last};
}

/// The address of this host as a whole. IPv6 sockets serve IPv4 as well.
socklen_t any_address(int family, int port, sockaddr_storage& storage) {
  storage = {};
  storage.ss_family = static_cast<sa_family_t>(family);
  const auto network_port = htons(static_cast<std::uint16_t>(port));
  if (family == AF_INET6) {
    reinterpret_cast<sockaddr_in6*>(&storage)->sin6_port = network_port;
    return sizeof(sockaddr_in6);
  }
  reinterpret_cast<sockaddr_in*>(&storage)->sin_port = network_port;
  return sizeof(sockaddr_in);
}

/// An empty descriptor, with errno set, if that fails.
Descriptor try_listening(int family, int port) {
  Descriptor opened(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!opened) return {};
  const int yes = 1;
  const int no = 0;
  ::setsockopt(opened.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (family == AF_INET6) ::setsockopt(opened.get(), IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
  sockaddr_storage storage;
  const socklen_t size = any_address(family, port, storage);
  if (::bind(opened.get(), reinterpret_cast<sockaddr*>(&storage), size) != 0) return {};
  // Two sockets can be bound to one port; only one of them can listen.
  if (::listen(opened.get(), SOMAXCONN) != 0) return {};
  return opened;
}

Descriptor listen_on(int port) {
  Descriptor opened = try_listening(AF_INET6, port);
  if (!opened && errno != EADDRINUSE) opened = try_listening(AF_INET, port);  // a host without IPv6
  return opened;
}

Descriptor listen_within(const PortRange& range, const std::string& ports) {
  int reason = 0;
  for (int port = range.first; port <= range.last; ++port) {
    if (Descriptor opened = listen_on(port)) return opened;
    reason = errno;
  }
  throw Error(fmt::format(
      "{} cannot listen for the other processes of the run on {}: {}; execution.mpi.ports needs at "
      "least one free port for every process on a host",
      host_name(), ports.empty() ? "any port" : "port " + ports, std::strerror(reason)));
}

std::uint16_t port_of(int socket) {
  sockaddr_storage storage{};
  socklen_t size = sizeof storage;
  ::getsockname(socket, reinterpret_cast<sockaddr*>(&storage), &size);
  return ntohs(storage.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(&storage)->sin6_port
                                             : reinterpret_cast<sockaddr_in*>(&storage)->sin_port);
}

std::string numeric_address(const sockaddr* address) {
  char text[INET6_ADDRSTRLEN] = {};
  if (address->sa_family == AF_INET) {
    const auto* four = reinterpret_cast<const sockaddr_in*>(address);
    ::inet_ntop(AF_INET, &four->sin_addr, text, sizeof text);
  } else if (address->sa_family == AF_INET6) {
    const auto* six = reinterpret_cast<const sockaddr_in6*>(address);
    // A caller would have to know its interface for a link-local address.
    if (IN6_IS_ADDR_LINKLOCAL(&six->sin6_addr)) return {};
    ::inet_ntop(AF_INET6, &six->sin6_addr, text, sizeof text);
  }
  return text;
}

/// IPv4 first: where only one works, it is mostly IPv4.
std::vector<std::string> addresses_of(const std::string& interface) {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0)
    throw Error(fmt::format("cannot list the network interfaces: {}", std::strerror(errno)));
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, ::freeifaddrs);
  std::vector<std::string> addresses;
  std::set<std::string> names;
  for (const int family : {AF_INET, AF_INET6})
    for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
      if (one->ifa_addr == nullptr || (one->ifa_flags & IFF_UP) == 0) continue;
      names.insert(one->ifa_name);
      if (one->ifa_addr->sa_family != family) continue;
      if (!interface.empty() && interface != one->ifa_name) continue;
      if (std::string text = numeric_address(one->ifa_addr); !text.empty())
        addresses.push_back(std::move(text));
    }
  if (addresses.empty()) {
    throw UsageError(fmt::format("{} has no network interface '{}' with an address; it has: {}",
                                 host_name(), interface, fmt::join(names, ", ")));
  }
  return addresses;
}

}  // namespace

std::string Card::text() const {
  return nlohmann::json{{"rank", place.rank},
                        {"host", place.host},
                        {"process", place.pid},
                        {"port", port},
                        {"addresses", addresses}}
      .dump();
}

Card parse_card(const std::string& text) {
  try {
    const auto json = nlohmann::json::parse(text);
    return {{json.at("rank"), json.at("host"), json.at("process")},
            json.at("port"),
            json.at("addresses")};
  } catch (const nlohmann::json::exception& error) {
    throw Error(
        fmt::format("a process introduced itself with '{}': {}; do all hosts run the same "
                    "acid?",
                    text, error.what()));
  }
}

Listener listen_to_others(int rank, const std::string& ports, const std::string& interface) {
  const PortRange range = parse_ports(ports);
  Listener listener;
  listener.card.place = {rank, host_name(), ::getpid()};
  listener.card.addresses = addresses_of(interface);
  listener.socket = listen_within(range, ports);
  listener.card.port = port_of(listener.socket.get());
  return listener;
}

}  // namespace acid

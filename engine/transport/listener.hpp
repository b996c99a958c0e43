#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/descriptor.hpp"
#include "engine/transport/transport.hpp"

namespace acid {

/// What a process tells the others, so that they can find it.
struct Card {
  ProcessPlace place;
  std::uint16_t port = 0;
  std::vector<std::string> addresses;  // numeric, IPv4 and IPv6
  std::string text() const;
};

/// Throws Error when `text` is no card.
Card parse_card(const std::string& text);

/// A socket that waits for the other processes of a run on all interfaces of this host.
struct Listener {
  Descriptor socket;
  Card card;
};

/// Listens on the first free port of `ports` ("20000-20100" or "20000"; empty: any), and tells the
/// addresses of `interface` (empty: of all that are up). Throws UsageError when either is no port
/// range or no interface of this host, Error when all ports are taken.
Listener listen_to_others(int rank, const std::string& ports, const std::string& interface);

}  // namespace acid

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/descriptor.hpp"
#include "engine/transport/transport.hpp"

namespace acid {

/// How other processes reach this one.
struct Card {
  ProcessPlace place;
  std::uint16_t port = 0;
  std::vector<std::string> addresses;  // numeric, IPv4 and IPv6
  std::string text() const;
};

/// Throws Error when `text` is no card.
Card parse_card(const std::string& text);

/// A socket that listens on all interfaces of this host for the other processes of a run.
struct Listener {
  Descriptor socket;
  Card card;
};

/// Listens on the first free port of `ports` ("20000-20100" or "20000"; empty: any). The card has
/// the addresses of `interface` (empty: of all interfaces that are up). Throws UsageError if
/// `ports` is no port range or `interface` none of this host, Error if all ports are taken.
Listener listen_to_others(int rank, const std::string& ports, const std::string& interface);

}  // namespace acid

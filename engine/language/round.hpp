#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace acid {

/// The workers that a worker hears. They determine the calendar: rounds, in which all workers take
/// part, meetings of two workers, beside the gradients, or arrivals at a server.
enum class Peers {
  neighbours,  // rounds: all neighbours, or those of the topology's schedule
  one,         // rounds: one of them or none, by a random matching for each exchange
  all,         // rounds: all workers, by an all-reduce
  partner,     // meetings: the other end of an edge that is drawn at a communication rate
  server,      // a server, when a worker comes to it; rounds without waiting
};
constexpr bool meets(Peers peers) { return peers == Peers::partner; }

/// The peers of rounds, with their names in listings.
struct NamedPeers {
  std::string_view name;
  Peers peers;
};
inline constexpr std::array kPeersOfRounds = {
    NamedPeers{"neighbours", Peers::neighbours}, NamedPeers{"all", Peers::all},
    NamedPeers{"one", Peers::one}, NamedPeers{"server", Peers::server}};
constexpr std::string_view name_of(Peers peers) {
  for (const NamedPeers& one : kPeersOfRounds)
    if (one.peers == peers) return one.name;
  return "pairs";
}

/// A phase of a worker's round in a synchronous method.
enum class Phase : std::uint8_t {
  gradient,  // computes a gradient at the rule's point
  step,      // with the gradient before
  say,       // sends its message
  hear,      // waits for this exchange's messages, and takes them in with its own
};

/// One gradient and one step of a worker, with the says and hears around them.
using Leg = std::vector<Phase>;

/// The order of a worker's phases in a synchronous method; workers repeat it. Phases between "say"
/// and "hear" run while messages travel.
class Round {
 public:
  /// The value of a parameter of the method.
  using Parameters = std::function<double(std::string_view name)>;

  Round() = default;
  /// Parses "gradient", "step", "say", "hear" and "COUNT * ( … )", where COUNT is a number, a
  /// parameter or, in parentheses, an expression of these, rounded: "steps * (gradient step) say
  /// hear". Throws UsageError with the column for any other text, and when gradients and steps, or
  /// says and hears, do not alternate. A round without "step" that is `served` gets one at the end
  /// of every leg.
  explicit Round(std::string_view text, const Parameters& parameters = {}, bool served = false);

  const std::vector<Leg>& legs() const { return legs_; }
  /// The leg of a worker's gradient `number`, counted from 0.
  const Leg& leg(std::int64_t number) const {
    return legs_[static_cast<std::size_t>(number) % legs_.size()];
  }
  /// How many messages a worker has said after this many legs.
  std::int64_t said_before(std::int64_t legs) const { return before(said_, legs); }
  /// How many of them it has heard; one less while a message is on its way.
  std::int64_t heard_before(std::int64_t legs) const { return before(heard_, legs); }
  bool is_open(std::int64_t leg) const { return said_before(leg) > heard_before(leg); }

 private:
  void cut(const std::vector<Phase>& phases);
  std::int64_t before(const std::vector<std::int64_t>& counts, std::int64_t legs) const;

  std::vector<Leg> legs_;
  std::vector<std::int64_t> said_{0}, heard_{0};  // before each leg; last: in all legs
};

/// Whether `one` comes before `other` in the leg; false where one of them is missing.
bool comes_before(const Leg& leg, Phase one, Phase other);
bool has(const Leg& leg, Phase phase);

}  // namespace acid

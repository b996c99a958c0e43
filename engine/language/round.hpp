#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace acid {

/// Whom a worker hears, which says what its calendar is: rounds, in which everybody takes part, or
/// meetings of two, beside the gradients, or arrivals at a server.
enum class Peers {
  neighbours,  // rounds: all its neighbours, or whom the topology's schedule says
  one,         // rounds: one of them, or nobody, by a random matching for every exchange
  all,         // rounds: all workers, by an all-reduce
  partner,     // meetings: the other end of an edge that is drawn at a communication rate
  server,      // a server, whenever a worker comes to it; rounds that nobody waits for
};
constexpr bool meets(Peers peers) { return peers == Peers::partner; }

/// Peers of rounds, as listings call them.
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

/// What a worker does in a round of a synchronous method.
enum class Phase : std::uint8_t {
  gradient,  // computes one, at the rule's point
  step,      // of the gradient before
  say,       // its message leaves
  hear,      // waits for the messages of this exchange, its own included, and takes them in
};

/// One gradient and one step of a worker, and what it says and hears around them.
using Leg = std::vector<Phase>;

/// When things happen in a synchronous method: workers walk through it again and again. What stands
/// between "say" and "hear" runs while messages travel.
class Round {
 public:
  /// The value of a parameter of the method.
  using Parameters = std::function<double(std::string_view name)>;

  Round() = default;
  /// Of "gradient", "step", "say", "hear" and "COUNT * ( … )", where COUNT is a number, a parameter
  /// or, in parentheses, an expression of these, rounded: "steps * (gradient step) say hear".
  /// Throws UsageError, with the column, for anything else; and where gradients and steps, or says
  /// and hears, do not take turns. A round without "step" that is `served` has one at the end of
  /// every leg.
  explicit Round(std::string_view text, const Parameters& parameters = {}, bool served = false);

  const std::vector<Leg>& legs() const { return legs_; }
  /// Of a worker's gradient `number`, from 0.
  const Leg& leg(std::int64_t number) const {
    return legs_[static_cast<std::size_t>(number) % legs_.size()];
  }
  /// How many messages a worker has said when it has walked through so many legs.
  std::int64_t said_before(std::int64_t legs) const { return before(said_, legs); }
  /// Of these so many are heard; one less where a message is on its way.
  std::int64_t heard_before(std::int64_t legs) const { return before(heard_, legs); }
  bool is_open(std::int64_t leg) const { return said_before(leg) > heard_before(leg); }

 private:
  void cut(const std::vector<Phase>& phases);
  std::int64_t before(const std::vector<std::int64_t>& counts, std::int64_t legs) const;

  std::vector<Leg> legs_;
  std::vector<std::int64_t> said_{0}, heard_{0};  // before each leg, and in all of them
};

/// Whether `one` comes before `other` in the leg; false where one of them is missing.
bool comes_before(const Leg& leg, Phase one, Phase other);
bool has(const Leg& leg, Phase phase);

}  // namespace acid

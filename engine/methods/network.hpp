#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "engine/methods/all_reduce.hpp"
#include "engine/methods/cards.hpp"

namespace acid {

/// The time of one message over a link, in simulated seconds.
struct LinkCost {
  double latency_seconds = 0;
  double bytes_per_second = 0;          // of the port, or card; 0: unlimited
  double message_bytes_per_second = 0;  // of one message, whatever the port carries; 0: unlimited
  /// How long a message keeps the port busy, on which the bytes of several add up.
  double port_seconds(double bytes) const {
    return bytes_per_second > 0 ? bytes / bytes_per_second : 0;
  }
  /// How long a message alone takes, without the latency.
  double transfer_seconds(double bytes) const {
    const double port = port_seconds(bytes);
    return message_bytes_per_second > 0 ? std::max(port, bytes / message_bytes_per_second) : port;
  }
  /// What one message gets at most; 0: unlimited.
  double most_bytes_per_second() const {
    return bytes_per_second > 0 && message_bytes_per_second > 0
               ? std::min(bytes_per_second, message_bytes_per_second)
               : std::max(bytes_per_second, message_bytes_per_second);
  }
  double seconds(double bytes) const { return latency_seconds + transfer_seconds(bytes); }
  bool is_instant() const { return latency_seconds == 0 && most_bytes_per_second() == 0; }
  void slow_down(double factor) {
    latency_seconds *= factor;
    bytes_per_second /= factor;
    message_bytes_per_second /= factor;
  }
  /// A sender that waits for an answer after so many bytes sends no more than them in a round trip.
  void limit_to_window(double bytes);
  /// A link between nodes is no faster than their cards, of so many bytes per second; 0: unlimited.
  void limit_to_card(double most) {
    if (most > 0) bytes_per_second = bytes_per_second > 0 ? std::min(bytes_per_second, most) : most;
  }
};

/// All that one worker sends to another during an all-reduce.
struct Flow {
  int from = 0, to = 0;
  double bytes = 0;
};

/// What a library's exchanges take besides their messages, such as words before and after them.
struct ExchangeOverhead {
  double exchange_seconds = 0;    // of two workers that meet, unless they share a node
  double neighbours_seconds = 0;  // of a round's message to a neighbour, unless they share a node
  double all_reduce_seconds = 0;  // of each all-reduce
  void slow_down(double factor) {
    for (double* const each : {&exchange_seconds, &neighbours_seconds, &all_reduce_seconds})
      *each *= factor;
  }
  bool is_nothing() const {
    return exchange_seconds == 0 && neighbours_seconds == 0 && all_reduce_seconds == 0;
  }
};

/// The links between simulated workers, and to servers.
struct NetworkModel {
  LinkCost link;                                  // between nodes, where workers share them
  std::map<std::pair<int, int>, LinkCost> edges;  // overrides, keyed i < j
  AllReduceKind all_reduce = AllReduceKind::ring;
  std::optional<LinkCost> hubs = {};  // between hubs and the server above; absent: as link
  /// The size of the vectors of a large model, for whose messages those of the run stand; a
  /// multiple of 4. Absent: the run stands for itself.
  std::optional<std::int64_t> vector_bytes = {};
  /// The same in elements, as RunSpec::stands_for.
  std::optional<std::size_t> stands_for() const {
    if (!vector_bytes) return std::nullopt;
    return static_cast<std::size_t>(*vector_bytes) / sizeof(float);
  }

  // Nodes. A node's workers have consecutive numbers.
  std::vector<int> workers_per_node = {};  // one number: of every node; empty: one worker each
  LinkCost inside = {};                    // between workers of a node
  std::map<std::pair<int, int>, LinkCost> between_nodes = {};  // overrides of link, keyed a < b
  double backend_factor = 1;  // the share of the bandwidth that an all-reduce reaches
  double window_bytes = 0;    // 0: unlimited; see LinkCost::limit_to_window
  ExchangeOverhead overhead = {};
  // Set by settle(), before a window limits what one message gets.
  std::vector<int> node_of = {};     // by worker; empty: one on each, and no matrix
  double card_bytes_per_second = 0;  // of a node, each way; 0: unlimited
  // As between_nodes, of the paths that several pairs of workers share.
  std::map<std::pair<int, int>, double> path_bytes_per_second = {};

  /// To be called once all members have their values: fits the links to the number of workers.
  void settle(int workers);
  /// Node of a worker; without nodes its own number.
  int node(int worker) const {
    return node_of.empty() ? worker : node_of[static_cast<std::size_t>(worker)];
  }
  int nodes() const { return node_of.empty() ? 0 : node_of.back() + 1; }
  /// Whether messages share cards, or paths. With one worker on each node and without a matrix each
  /// has a port of its own instead.
  bool shares_cards() const;
  bool share_a_card(int i, int j) const { return shares_cards() && node(i) != node(j); }
  /// The cards of Cards. `directed`: a node has one for each direction, and so has a path; else one
  /// stands for both, as of messages that come in pairs. Each node's messages to all others share
  /// its card, and those between two nodes that `between_nodes` has share that path.
  std::vector<double> cards(bool directed) const;
  /// Which of them a message between workers of two nodes uses.
  SharedWay way(int from, int to, bool directed) const;

  /// Every message and exchange takes `factor` times as long.
  void slow_down(double factor);

  const LinkCost& between(int i, int j) const;
  /// How long two workers meet to exchange messages of so many bytes.
  double meeting_seconds(int i, int j, double bytes) const {
    return between(i, j).seconds(bytes) + overhead_of_meeting(i, j);
  }
  double overhead_of_meeting(int i, int j) const {
    return node(i) == node(j) ? 0 : overhead.exchange_seconds;
  }
  /// Whether a message to a neighbour is one bucket, as acid's own are under mpi.
  bool sends_whole() const { return all_reduce == AllReduceKind::direct; }
  /// Whether all messages between workers take no time.
  bool is_instant() const;

  /// The time of an all-reduce of `bytes` from the moment at which every worker is ready until
  /// every worker has the sum, message by message over the links that it crosses; additions are
  /// free. Adding begins before the last worker is ready, but the last worker's part of the sum
  /// still has all steps before it, so the time counts from the last worker.
  ///
  /// ring (Patarasuk & Yuan 2009; NCCL, gloo): worker i passes 2(n−1) pieces of bytes/n on to
  ///   i + 1, each as soon as it has come and the one before it has left. On equal links
  ///   2(n−1)·latency + 2(n−1)/n·bytes/bandwidth; pieces under way on a slow link do not wait for
  ///   each other, so that one link of high latency is paid twice, not 2(n−1) times.
  /// tree (double binary, as NCCL's): the parent of worker i is i/2, in the mirrored tree likewise
  ///   from the other end; the deepest path's latencies twice, and the bytes of the worker whose
  ///   links carry most. On equal links 2⌈log₂ n⌉·latency + 2·bytes/bandwidth (n = 2: half those
  ///   bytes).
  /// recursive doubling: whole vectors with the partner whose number differs in one bit, once both
  ///   have theirs; workers beyond the largest power of two hand theirs to a neighbour before and
  ///   get the sum after: ⌊log₂ n⌋ + 2 messages then, one after the other.
  /// blocking: no worker begins a step of the ring before both neighbours have ended the last, so
  ///   every step takes as long as the slowest link: 2(n−1) times that.
  /// hierarchical (as NCCL over nodes): the m workers of each node add up pieces round a ring
  ///   inside, the nodes do a ring for each piece at once, which share the cards, and the sums go
  ///   round inside: 2(m−1) steps of bytes/m inside, and a ring of the whole vector among nodes.
  ///   Without nodes it is the ring.
  /// direct (acid's own under mpi): each worker sends each other its n-th of the vector, adds up
  ///   what comes, and sends each the sum: 2·latency + 2(n−1)/n·bytes/bandwidth on equal links, on
  ///   others the highest latency and the bytes of the busiest port, card or path.
  ///
  /// Nodes: the ring enters and leaves each node once, so its messages have the cards to
  /// themselves. In the trees and the direct one the bytes of all links of a node's card add up; in
  /// recursive doubling the messages of a step that leave a node share its card. With a
  /// backend_factor f every link has f times its bandwidth. The overhead comes on top.
  ///
  /// O(n) where all links are equal, at most O(n²): compute it once, since links never change.
  double all_reduce_seconds(int workers, double bytes) const;
  /// What it sends between nodes, and over any other link.
  std::vector<Flow> all_reduce_flows(int workers, double bytes) const;
  /// This network, settled, as these workers see it alone: they are 0, 1, … of it. Ascending.
  NetworkModel among(const std::vector<int>& workers) const;
};

}  // namespace acid

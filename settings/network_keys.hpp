#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "settings/run_settings.hpp"
#include "settings/schema.hpp"
#include "settings/use.hpp"

namespace acid::network_keys {

using nlohmann::json;

// The keys of execution.virtual.network.

inline constexpr const char* kBandwidth = "bandwidth_bytes_per_second";
inline constexpr const char* kBandwidthHelp = "bandwidth of a link, each way; absent: unlimited";
inline constexpr const char* kOwnBandwidthHelp =
    "bandwidth of this link, each way; absent: the network's";
inline constexpr Fields kHubLink = fields<LinkCost>(
    {key<&LinkCost::latency_seconds>(
         "latency_seconds", "null",
         "latency of a message between a hub and the server above; absent: the network's",
         kDuration),
     key<&LinkCost::bytes_per_second>(kBandwidth, "null", kOwnBandwidthHelp, above(0))});
inline constexpr Fields kEdge = fields<LinkCost>(
    {key_of<LinkCost>("edge", FieldType::integers, "", "the two workers of the link", at_least(0)),
     key<&LinkCost::latency_seconds>("latency_seconds", "null",
                                     "latency of a message; absent: the network's", kDuration),
     key<&LinkCost::bytes_per_second>(kBandwidth, "null", kOwnBandwidthHelp, above(0))});

inline constexpr Fields kInside = fields<LinkCost>(
    {key<&LinkCost::latency_seconds>("latency_seconds", "0.0",
                                     "latency of a message between workers of a node", kDuration),
     key<&LinkCost::bytes_per_second>(kBandwidth, "null", kBandwidthHelp, above(0))});
inline constexpr Fields kNodeLink = fields<LinkCost>(
    {key_of<LinkCost>("nodes", FieldType::integers, "", "the two nodes", at_least(0)),
     key<&LinkCost::latency_seconds>("latency_seconds", "0.0", "latency of a message", kDuration),
     key<&LinkCost::bytes_per_second>(kBandwidth, "null", kBandwidthHelp, above(0))});

inline constexpr const char* kAllReduces =
    "ring,tree,recursive-doubling,blocking,hierarchical,direct";

inline constexpr Fields kOverhead = fields<ExchangeOverhead>(
    {key<&ExchangeOverhead::exchange_seconds>(
         "exchange_seconds", "0.0", "when two workers meet, unless they share a node", kDuration)
         .unused(&use::without_meetings),
     key<&ExchangeOverhead::neighbours_seconds>(
         "neighbours_seconds", "0.0",
         "of a round's message between neighbours, unless they share a node", kDuration)
         .unused(&use::without_neighbours),
     key<&ExchangeOverhead::all_reduce_seconds>("all_reduce_seconds", "0.0",
                                                "of each all-reduce of a bucket", kDuration)
         .unused(&use::without_sums)});

inline void read_node_links(VirtualOptions& options, const json& section, const Field&) {
  for (const json& link : section) {
    const int a = link.at("nodes").at(0), b = link.at("nodes").at(1);
    kNodeLink.fill(options.network.between_nodes[std::minmax(a, b)], link);
  }
}

inline void read_edges(VirtualOptions& options, const json& section, const Field&) {
  for (const json& link : section) {
    const int i = link.at("edge").at(0), j = link.at("edge").at(1);
    kEdge.fill(options.network.edges[std::minmax(i, j)], link);
  }
}

inline constexpr Fields kNetwork = fields<VirtualOptions>(
    {key<&VirtualOptions::network, &NetworkModel::link, &LinkCost::latency_seconds>(
         "latency_seconds", "0.0", "latency of a message", kDuration)
         .unused(&use::without_ways),
     key<&VirtualOptions::network, &NetworkModel::link, &LinkCost::bytes_per_second>(
         kBandwidth, "null", kBandwidthHelp, above(0))
         .unused(&use::without_ways),
     key<&VirtualOptions::compute, &ComputeModel::gradient_seconds>(
         "gradient_seconds", "1.0", "mean duration of one gradient of a nominal worker",
         above(0).at_most(kLongest)),
     choice<&VirtualOptions::network, &NetworkModel::all_reduce>(
         "all_reduce", kAllReduces, "\"ring\"",
         "how its messages go: ring (2(n-1) pieces of a vector, each sent as soon as it has come), "
         "tree, recursive-doubling, blocking (a ring whose every step waits for all), hierarchical "
         "(rings inside the nodes, and one among them), direct (pieces from each to each, as "
         "acid's "
         "own under mpi)",
         Values<AllReduceKind::ring, AllReduceKind::tree, AllReduceKind::recursive_doubling,
                AllReduceKind::blocking, AllReduceKind::hierarchical, AllReduceKind::direct>{})
         .unused(&use::simulated_all_reduce),
     key_of<VirtualOptions>("edges", FieldType::sections, "[]", "links that differ from the others",
                            {}, &read_edges)
         .of(kTableOf<kEdge>)
         .unused(&use::without_links),
     section<kHubLink, &VirtualOptions::network, &NetworkModel::hubs>(
         "hubs", "the links between hubs and the server above them; absent: as the others", "null")
         .later()
         .unused(&use::without_hubs),
     key<&VirtualOptions::network, &NetworkModel::workers_per_node>(
         "workers_per_node", "[]",
         "workers on each node, which share its network card: a number, or a list for "
         "nodes that differ; absent: one on each",
         at_least(1).at_most(1e6))
         .later()
         .apart()
         .said("a whole number at least 1, or a list of them", "", "workers_per_node = 8")
         .unused(&use::without_links),
     section<kInside, &VirtualOptions::network, &NetworkModel::inside>(
         "inside", "the links between workers of a node; absent: messages take no time there",
         "null")
         .later()
         .unused(&use::without_nodes),
     key_of<VirtualOptions>(
         "matrix", FieldType::file, "null",
         "a CSV file of the links between nodes that differ from the others: lines NODE,NODE,"
         "LATENCY,BANDWIDTH, in seconds and bytes per second or with units",
         {}, &read_node_links)
         .later()
         .apart()
         .said("", "", "matrix = \"sites.csv\"")
         .unused(&use::without_links),
     key<&VirtualOptions::network, &NetworkModel::backend_factor>(
         "backend_factor", "1.0",
         "the share of the bandwidth that an all-reduce reaches, as measured of a library",
         above(0).at_most(1))
         .later()
         .unused(&use::simulated_all_reduce),
     key<&VirtualOptions::network, &NetworkModel::window_bytes>(
         "window_bytes", "0",
         "what a sender sends before it waits for an answer: a link carries at most this in a "
         "round trip, twice its latency; 0: unlimited",
         at_least(0).at_most(1e15))
         .as(FieldType::bytes)
         .later()
         .unused(&use::without_messages),
     section<kOverhead, &VirtualOptions::network, &NetworkModel::overhead>(
         "overhead",
         "what exchanges take besides their messages, as measured of a library; absent: nothing",
         "null")
         .later()
         .unused(&use::without_messages),
     key<&VirtualOptions::network, &NetworkModel::vector_bytes>(
         "vector_bytes", "null",
         "the size of a large model's vectors, 4 bytes a parameter: messages cost and count as its "
         "own; absent: those of the task's model",
         above(0).at_most(1e12))
         .as(FieldType::bytes)
         .later()
         .unused(&use::without_messages)});

}  // namespace acid::network_keys

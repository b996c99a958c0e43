#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "recipes/execution_mpi.hpp"
#include "recipes/sections.hpp"

namespace acid {
namespace {

using nlohmann::json;

constexpr std::array kExecution = {
    Field{.name = "driver",
          .type = FieldType::text,
          .fallback = "\"virtual\"",
          .help = "virtual: simulated time; threads, mpi: one thread or process per worker",
          .choices = "virtual,threads,mpi"},
    Field{.name = "device",
          .type = FieldType::text,
          .fallback = "\"cpu\"",
          .help = "where workers live and models compute; analytic tasks compute on the CPU",
          .choices = "cpu,cuda"},
    Field{.name = "threads_per_worker",
          .type = FieldType::integer,
          .fallback = "1",
          .help = "threads inside one gradient; part of the arithmetic, so part of the digest",
          .minimum = 1,
          .maximum = 1024},
    Field{.name = "max_backlog",
          .type = FieldType::integer,
          .fallback = "4",
          .help = "due edges that may wait, times max(1, worker rate), before gradients hold",
          .minimum = 1,
          .maximum = 1e6},
    Field{.name = "max_restarts",
          .type = FieldType::integer,
          .fallback = "3",
          .help = "how often acid run starts a worker again whose process died",
          .minimum = 0,
          .maximum = 1e6},
};
constexpr std::array<std::string_view, 3> kExecutionElsewhere = {"virtual", "threads", "mpi"};

constexpr std::array kVirtual = {
    Field{.name = "gradient_clock",
          .type = FieldType::text,
          .fallback = "\"duration\"",
          .help =
              "duration: gradients take time; poisson: unit-rate events, as in the theory; none: "
              "exchanges alone",
          .choices = "duration,poisson,none"},
};
constexpr std::array<std::string_view, 6> kVirtualElsewhere = {
    "compute", "slow_workers", "random_slowdown", "pauses", "network", "cost"};

constexpr std::array kShift = {
    Field{.name = "shift",
          .type = FieldType::number,
          .fallback = "0.5",
          .help = "share of the mean duration that is constant",
          .minimum = 0,
          .maximum = 1,
          .maximum_excluded = true},
};
constexpr std::array kSigma = {
    Field{.name = "sigma",
          .type = FieldType::number,
          .fallback = "0.2",
          .help = "standard deviation of the logarithm of the duration",
          .minimum = 0,
          .maximum = 10},
};
constexpr std::array kShape = {
    Field{.name = "shape",
          .type = FieldType::number,
          .fallback = "3.0",
          .help = "tail exponent; the mean is finite above 1",
          .minimum = 1,
          .minimum_excluded = true},
};
constexpr std::array kCompute = {
    Kind{"constant", {}, "every gradient takes the mean duration"},
    Kind{"exponential", {}, "exponentially distributed around it"},
    Kind{"shifted-exponential", kShift, "a constant share, the rest exponential"},
    Kind{"lognormal", kSigma, "the logarithm is normally distributed"},
    Kind{"pareto", kShape, "a heavy tail: few gradients take very long"}};

constexpr std::array kSlowdown = {
    Field{.name = "probability",
          .type = FieldType::number,
          .fallback = {},
          .help = "share of the gradients that are slowed down",
          .minimum = 0,
          .maximum = 1},
    Field{.name = "factor",
          .type = FieldType::number,
          .fallback = {},
          .help = "how many times longer they take",
          .minimum = 0,
          .minimum_excluded = true},
};
constexpr std::array kPause = {
    Field{.name = "worker",
          .type = FieldType::integer,
          .fallback = {},
          .help = "who pauses",
          .minimum = 0},
    Field{.name = "at_seconds",
          .type = FieldType::number,
          .fallback = {},
          .help = "when the pause begins",
          .minimum = 0},
    Field{.name = "for_seconds",
          .type = FieldType::number,
          .fallback = {},
          .help = "how long it lasts",
          .minimum = 0,
          .minimum_excluded = true},
};

constexpr Field kBandwidth = {.name = "bandwidth_bytes_per_second",
                              .type = FieldType::number,
                              .fallback = "null",
                              .help = "of a link, each way; absent: unlimited",
                              .minimum = 0,
                              .minimum_excluded = true};
constexpr std::array kNetwork = {
    Field{.name = "latency_seconds",
          .type = FieldType::number,
          .fallback = "0.0",
          .help = "of a message",
          .minimum = 0},
    kBandwidth,
    Field{.name = "gradient_seconds",
          .type = FieldType::number,
          .fallback = "1.0",
          .help = "mean duration of one gradient of a nominal worker",
          .minimum = 0,
          .minimum_excluded = true},
    Field{.name = "all_reduce",
          .type = FieldType::text,
          .fallback = "\"ring\"",
          .help =
              "how its messages go: ring (2(n-1) pieces of a vector, each sent as soon as it has "
              "come), tree, recursive-doubling, blocking (a ring whose every step waits for all)",
          .choices = "ring,tree,recursive-doubling,blocking"},
};
constexpr std::array<std::string_view, 2> kNetworkElsewhere = {"edges", "hubs"};
constexpr std::array kHubLink = {
    Field{.name = "latency_seconds",
          .type = FieldType::number,
          .fallback = "null",
          .help = "of a message between a hub and the server above; absent: the network's",
          .minimum = 0},
    kBandwidth,
};
constexpr std::array kEdge = {
    Field{.name = "edge",
          .type = FieldType::integers,
          .fallback = {},
          .help = "the two workers of the link",
          .minimum = 0},
    Field{.name = "latency_seconds",
          .type = FieldType::number,
          .fallback = "null",
          .help = "of a message; absent: the network's",
          .minimum = 0},
    kBandwidth,
};
// Finer buckets than this cost more to simulate than they can tell.
constexpr double kLeastBucketBytes = 1024;
constexpr std::array kCost = {
    Field{.name = "forward_share",
          .type = FieldType::number,
          .fallback = "0.3333333333333333",
          .help = "the forward pass's share of a gradient; the backward pass is the rest",
          .minimum = 0,
          .maximum = 1},
    Field{.name = "optimizer_share",
          .type = FieldType::number,
          .fallback = "0.0",
          .help = "the optimiser's time in gradient durations, on top of the gradient, for every "
                  "algorithm",
          .minimum = 0,
          .maximum = 1e6},
    Field{
        .name = "bucket_bytes",
        .type = FieldType::integer,
        .fallback = "26214400",
        .help = "size of the pieces in which exchanges overlap the backward pass (PyTorch: 25 MiB)",
        .minimum = kLeastBucketBytes,
        .maximum = 1e15},
    Field{.name = "first_bucket_bytes",
          .type = FieldType::integer,
          .fallback = "null",
          .help = "size of the first of them; absent: 1 MiB (as PyTorch), at most bucket_bytes",
          .minimum = kLeastBucketBytes,
          .maximum = 1e15},
    Field{.name = "buckets",
          .type = FieldType::integer,
          .fallback = "null",
          .help = "as many equal pieces instead",
          .minimum = 1,
          .maximum = 1e6},
};
constexpr std::array<std::string_view, 2> kEqualOrSized = {"buckets", "bucket_bytes"};
constexpr std::array<std::string_view, 2> kEqualOrFirst = {"buckets", "first_bucket_bytes"};
constexpr std::int64_t kFirstBucketBytes = 1 << 20;

constexpr std::array kThreads = {
    Field{.name = "exchange_threads",
          .type = FieldType::integer,
          .fallback = "null",
          .help = "threads that carry out exchanges; absent: chosen from cores and workers",
          .minimum = 1,
          .maximum = 1024},
};
constexpr std::array<std::string_view, 1> kThreadsElsewhere = {"slow_workers"};
constexpr Field kFactor = {.name = "slow_workers",
                           .type = FieldType::number,
                           .fallback = {},
                           .help = "worker = factor by which its gradients take longer",
                           .minimum = 0,
                           .minimum_excluded = true};
// What threads and processes compute really takes its time.
constexpr Field kRealFactor = {
    .name = kFactor.name,
    .type = kFactor.type,
    .fallback = {},
    .help =
        "worker = factor by which its gradients take longer; a real gradient cannot be made "
        "faster: slow the others down instead, or use driver = \"virtual\"",
    .minimum = 1};

const Node* member(const Node* node, std::string_view name) {
  return node == nullptr ? nullptr : node->find(name);
}

bool is_index(std::string_view key) {
  const bool digits =
      std::all_of(key.begin(), key.end(), [](char c) { return c >= '0' && c <= '9'; });
  return digits && !key.empty() && key.size() < 8 && (key.size() == 1 || key[0] != '0');
}

// { "0": 4.0 }: whether the workers exist is known only with their count.
json slow_workers_of(Checker& checker, const Node* node, const std::string& path,
                     const Field& field) {
  json factors = json::object();
  if (node == nullptr || !checker.is_type(node, Node::Type::table, path, "a table { 0 = 4.0 }"))
    return factors;
  for (const Node& child : node->children) {
    if (!is_index(child.key))
      checker.unknown(child.key_place, path + " worker", child.key,
                      std::vector<std::string>{"a worker's number, counted from 0"});
    else if (auto factor = checker.value(child, field, fmt::format("{}.{}", path, child.key)))
      factors[child.key] = *factor;
  }
  return factors;
}

json tables_of(Checker& checker, const Node* node, const std::string& path,
               std::span<const Field> fields) {
  json items = json::array();
  if (node == nullptr || !checker.is_type(node, Node::Type::list, path, "a list of tables"))
    return items;
  for (std::size_t i = 0; i < node->children.size(); ++i)
    items.push_back(checker.table(&node->children[i], fmt::format("{}[{}]", path, i), {fields}));
  return items;
}

json no_slowdown() { return {{"probability", 0.0}, {"factor", 1.0}}; }

// What a link leaves out is the network's.
void fill_link(json& link, const json& network) {
  for (const char* key : {"latency_seconds", kBandwidth.name.data()})
    if (link[key].is_null()) link[key] = network[key];
}

// Each overridden link with both numbers.
json links_of(Checker& checker, const Node* node, const json& network) {
  const std::string path = "execution.virtual.network.edges";
  json links = tables_of(checker, node, path, kEdge);
  for (std::size_t i = 0; i < links.size(); ++i) {
    json& link = links[i];
    const json& edge = link["edge"];
    if (edge.is_array() && (edge.size() != 2 || edge[0] == edge[1]))
      checker.diagnostics().error(place_of(node->children[i], "edge"),
                                  fmt::format("{}[{}].edge must name two workers", path, i),
                                  "write edge = [0, 1]");
    fill_link(link, network);
  }
  return links;
}

// Either equal buckets or sizes: of what excludes each other, what was said last holds.
json cost_of(Checker& checker, const Node* node) {
  const std::string path = "execution.virtual.cost";
  json cost = checker.table(node, path, {kCost});
  const Node* const size = checker.only_one(node, path, kEqualOrSized);
  const Node* const first = checker.only_one(node, path, kEqualOrFirst);
  const auto given = [](const Node* chosen) { return chosen != nullptr; };
  const bool equal =
      given(size) && given(first) && size->key == "buckets" && first->key == "buckets";
  if (equal) {
    cost["bucket_bytes"] = cost["first_bucket_bytes"] = nullptr;
    return cost;
  }
  cost["buckets"] = nullptr;
  if (cost["first_bucket_bytes"].is_null() && cost["bucket_bytes"].is_number_integer())
    cost["first_bucket_bytes"] =
        std::min(kFirstBucketBytes, cost["bucket_bytes"].get<std::int64_t>());
  return cost;
}

json virtual_of(Checker& checker, const Node* node) {
  const std::string path = "execution.virtual";
  json out = checker.table(node, path, {kVirtual, kVirtualElsewhere});
  out["compute"] = checker.kinded(member(node, "compute"), path + ".compute", kCompute, "constant");
  out["slow_workers"] =
      slow_workers_of(checker, member(node, "slow_workers"), path + ".slow_workers", kFactor);
  const Node* slowdown = member(node, "random_slowdown");
  out["random_slowdown"] = slowdown == nullptr
                               ? no_slowdown()
                               : checker.table(slowdown, path + ".random_slowdown", {kSlowdown});
  out["pauses"] = tables_of(checker, member(node, "pauses"), path + ".pauses", kPause);
  const Node* network = member(node, "network");
  out["network"] = checker.table(network, path + ".network", {kNetwork, kNetworkElsewhere});
  out["network"]["edges"] = links_of(checker, member(network, "edges"), out["network"]);
  const Node* hubs = member(network, "hubs");
  json of_hubs = checker.table(hubs, path + ".network.hubs", {kHubLink});
  fill_link(of_hubs, out["network"]);
  if (hubs != nullptr) out["network"]["hubs"] = of_hubs;
  out["cost"] = cost_of(checker, member(node, "cost"));
  return out;
}

// Where gradients are instantaneous events, or there are none, nothing can stretch them.
void check_durations(Checker& checker, const Node* node, const json& model) {
  if (node == nullptr || model["gradient_clock"] == "duration") return;
  const std::string clock = model["gradient_clock"].is_string()
                                ? model["gradient_clock"].get<std::string>()
                                : std::string();
  const auto refuse_unless = [&](bool unused, const char* key) {
    if (unused) return;
    checker.diagnostics().error(
        place_of(*node, key),
        fmt::format("execution.virtual.{} has no effect with gradient_clock = \"{}\"", key, clock),
        "remove it, or use gradient_clock = \"duration\", where gradients take time");
  };
  refuse_unless(model["compute"].value("kind", "constant") == "constant", "compute");
  refuse_unless(model["slow_workers"].empty(), "slow_workers");
  refuse_unless(model["random_slowdown"] == no_slowdown(), "random_slowdown");
  refuse_unless(model["pauses"].empty(), "pauses");
  refuse_unless(model["cost"].value("optimizer_share", json()) == 0.0, "cost.optimizer_share");
}

}  // namespace

json check_execution(Checker& checker, const Node* node) {
  json execution = checker.table(node, "execution", {kExecution, kExecutionElsewhere});
  const Node* simulated = member(node, "virtual");
  execution["virtual"] = virtual_of(checker, simulated);
  check_durations(checker, simulated, execution["virtual"]);
  const Node* threads = member(node, "threads");
  execution["threads"] = checker.table(threads, "execution.threads", {kThreads, kThreadsElsewhere});
  execution["threads"]["slow_workers"] = slow_workers_of(
      checker, member(threads, "slow_workers"), "execution.threads.slow_workers", kRealFactor);
  const Node* mpi = member(node, "mpi");
  json processes = check_mpi(checker, mpi);
  processes["slow_workers"] = slow_workers_of(checker, member(mpi, "slow_workers"),
                                              "execution.mpi.slow_workers", kRealFactor);
  // Other runs do not have it: they were digested before there was such a table.
  if (execution["driver"] == "mpi") execution["mpi"] = std::move(processes);
  return execution;
}

}  // namespace acid

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <numeric>
#include <set>
#include <string>
#include <utility>

#include "engine/base/names.hpp"
#include "recipes/sections.hpp"
#include "recipes/units.hpp"
#include "settings/network_keys.hpp"

namespace acid {
namespace {

using nlohmann::json;

constexpr const char* kNetworkPath = "execution.virtual.network";

constexpr std::string_view kSpace = " \t\r";

std::optional<std::int64_t> node_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || rest != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

class LinksFile {
 public:
  LinksFile(Checker& checker, const Place& place, std::string path)
      : checker_(checker), place_(place), path_(std::move(path)) {}

  json read() {
    json links = json::array();
    std::ifstream file(path_);
    std::string line;
    while (std::getline(file, line)) {
      ++number_;
      const std::string_view text =
          trimmed(number_ == 1 ? without_byte_order_mark(line) : line, kSpace);
      if (text.empty() || text.front() == '#') continue;
      Parts parts = split_at(text, ',');
      for (std::string_view& part : parts) part = trimmed(part, kSpace);
      if (!begun_ && parts[0].find_first_of("0123456789") == std::string_view::npos) {
        begun_ = true;  // a line of titles
        continue;
      }
      begun_ = true;
      if (const auto link = link_of(parts)) links.push_back(*link);
      if (failed_) return json::array();
    }
    if (file.bad())
      report("it cannot be read, or is a folder");
    else if (links.empty())
      report("it has no links");
    return failed_ ? json::array() : links;
  }

 private:
  using Parts = std::vector<std::string_view>;

  std::optional<json> link_of(const Parts& parts) {
    if (parts.size() < 3 || parts.size() > 4)
      return report(fmt::format("line {} has {} columns", number_, parts.size()));
    const auto a = node_number(parts[0]), b = node_number(parts[1]);
    if (!a || !b || *a == *b)
      return report(fmt::format("line {} must begin with the numbers of two nodes", number_));
    if (!known_.insert(std::minmax(*a, *b)).second)
      return report(fmt::format("line {} names the nodes {} and {} again", number_, *a, *b));
    json link = {
        {"nodes", {*a, *b}}, {"latency_seconds", nullptr}, {"bandwidth_bytes_per_second", nullptr}};
    if (!parts[2].empty()) link["latency_seconds"] = number(parts[2], "latency");
    if (parts.size() == 4 && !parts[3].empty())
      link["bandwidth_bytes_per_second"] = number(parts[3], "bandwidth");
    return link;
  }

  // A link's key that begins so, in its units or without one, and within its limits.
  json number(std::string_view text, std::string_view what) {
    constexpr const FieldTable& kKeys = kTableOf<network_keys::kNodeLink>;
    const Field& field = *std::ranges::find_if(
        kKeys.fields, [&](const Field& f) { return f.name.starts_with(what); });
    constexpr std::array kPlain = {Unit{"", 1}};
    auto value = quantity(text, kPlain);
    if (!value) value = quantity(text, units_of(field));
    const auto refuse = [&](const std::string& why) {
      report(fmt::format("line {}: '{}' is no {}{}", number_, text, what, why));
    };
    if (!value)
      refuse("");
    else if (const auto problem = why_not(*value, field))
      refuse(fmt::format(": it {}", problem->message));
    return value.value_or(0);
  }

  std::nullopt_t report(const std::string& what) {
    failed_ = true;
    checker_.diagnostics().error(
        place_, fmt::format("{}.matrix: {}: {}", kNetworkPath, path_, what),
        "write lines NODE,NODE,LATENCY,BANDWIDTH, such as 0,1,30 ms,100 Mbit/s; without units they "
        "are seconds and bytes per second, and an empty column is the network's value");
    return std::nullopt;
  }

  Checker& checker_;
  const Place place_;
  const std::string path_;
  int number_ = 0;
  bool begun_ = false, failed_ = false;
  std::set<std::pair<std::int64_t, std::int64_t>> known_;
};

const Field& network_field(std::string_view name) {
  return *table_of("execution").find("virtual")->table->find("network")->table->find(name);
}

}  // namespace

void check_nodes(Checker& checker, const Node* node, json& network) {
  if (node == nullptr) return;
  if (const Node* const counts = node->find("workers_per_node")) {
    const Field& field = network_field("workers_per_node");
    const std::string path = fmt::format("{}.workers_per_node", kNetworkPath);
    Field one = field;
    one.type = FieldType::integer;
    auto value = checker.value(*counts, counts->is_list() ? field : one, path);
    if (value && !value->is_array()) value = json::array({*value});
    if (value && !value->empty()) network["workers_per_node"] = std::move(*value);  // []: absent
  }
  if (const Node* const matrix = node->find("matrix")) {
    Field file = network_field("matrix");
    file.type = FieldType::file;
    const auto path = checker.value(*matrix, file, fmt::format("{}.matrix", kNetworkPath));
    if (!path) return;
    json links = LinksFile(checker, matrix->place, path->get<std::string>()).read();
    if (!links.empty()) network["matrix"] = std::move(links);
  }
}

void check_nodes_fit(const json& network, int workers, const Report& report) {
  const std::string place = "execution.virtual.network.";
  std::int64_t nodes = workers;
  if (const auto found = network.find("workers_per_node"); found != network.end()) {
    const auto counts = found->get<std::vector<std::int64_t>>();
    const auto sum = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
    nodes = counts.size() > 1 ? static_cast<std::int64_t>(counts.size())
                              : (workers + counts.front() - 1) / counts.front();
    if (counts.size() > 1 && sum != workers)
      report(place + "workers_per_node",
             {fmt::format("{} nodes have {} workers, and the recipe {}", nodes, sum, workers),
              "write one number for nodes that are alike; the last one may have fewer"});
  }
  if (const auto found = network.find("matrix"); found != network.end())
    for (const json& link : *found)
      for (const json& node : link["nodes"])
        if (node.get<std::int64_t>() >= nodes)
          return report(place + "matrix",
                        {fmt::format("its file names node {} of {}", node.dump(), nodes),
                         fmt::format("nodes are numbered 0 to {}", nodes - 1)});
}

}  // namespace acid

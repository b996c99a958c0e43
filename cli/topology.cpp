#include "engine/topology/topology.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "cli/show_text.hpp"
#include "cli/terminal/commands.hpp"
#include "cli/terminal/option_text.hpp"
#include "cli/terminal/table.hpp"
#include "engine/base/names.hpp"
#include "engine/topology/schedule_numbers.hpp"
#include "engine/topology/spectral.hpp"
#include "recipes/checker.hpp"
#include "recipes/parse.hpp"
#include "reports/text_table.hpp"

namespace acid {
namespace {

using nlohmann::json;

constexpr std::int64_t kMostEdgesInText = 64;
constexpr std::int64_t kMostEdgesOfComplete = 1'000'000;  // in JSON

struct TopologyOptions {
  std::string kind;
  int workers = 0;
  double rate = 1;
  std::vector<std::string> options;
  Format format;
};

const TopologyEntry& entry_of(const std::string& kind) {
  if (const TopologyEntry* entry = find_topology(kind)) return *entry;
  std::vector<std::string> known;
  for (const TopologyEntry& entry : topology_catalog()) known.emplace_back(entry.name);
  throw UsageError(fmt::format("unknown topology '{}'; {}", kind, did_you_mean(kind, known)));
}

/// The keys of --option, checked and completed as those of a recipe's [topology].
json checked_options(const TopologyEntry& entry, const std::vector<std::string>& given) {
  Diagnostics diagnostics("", "", given);
  Node section;
  for (std::size_t k = 0; k < given.size(); ++k) {
    if (given[k].find('=') == std::string::npos)
      throw UsageError(fmt::format("option '{}' has no value; write {}=VALUE", given[k], given[k]));
    auto option = parse_override(given[k], static_cast<int>(k), diagnostics);
    if (!option) continue;
    const Place place = option->value.place;
    if (auto problem =
            assign(section, option->key, std::move(option->value), Origin::override_text))
      diagnostics.error(place, *std::move(problem));
  }
  const json options =
      Checker(diagnostics, "").table(&section, "topology", {.fields = entry.fields});
  std::vector<Diagnostic> errors = diagnostics.errors();
  for (Diagnostic& error : errors) error.file = "--option";
  if (!errors.empty()) throw RecipeError(std::move(errors));
  return options;
}

Topology topology_of(const TopologyOptions& options) {
  const TopologyEntry& entry = entry_of(options.kind);
  json given = checked_options(entry, options.options);
  given["kind"] = entry.name;
  return make_topology(options.workers, given);
}

json edges_of(const Topology& topology, double rate) {
  if (topology.is_complete() && topology.edge_count() > kMostEdgesOfComplete) return nullptr;
  json edges = json::array();
  topology.for_each_edge([&](const Edge& edge) {
    edges.push_back({edge.i, edge.j, topology.edge_rate(edge.i, edge.j, rate)});
  });
  return edges;
}

// Absent for a graph that changes, or that is too large.
std::optional<double> rho_of(const Topology& topology) {
  if (topology.workers() < 2 || topology.workers() > kMostMixingWorkers || topology.schedule())
    return std::nullopt;
  return mixing_numbers(metropolis_weights(topology)).rho;
}

json document_of(const Topology& topology, double rate, const std::optional<Spectral>& numbers) {
  json document{{"kind", topology.kind()},
                {"workers", topology.workers()},
                {"rate", rate},
                {"edge_count", topology.edge_count()},
                {"edges", edges_of(topology, rate)}};
  for (const auto& [key, symbol, value] : numbers.value_or(Spectral{}).named())
    document[std::string(key)] = numbers ? json(value) : json();
  if (!numbers) document["lambda_sum"] = 0.0;  // one worker has no gossip
  const std::optional<double> rho = rho_of(topology);
  document["rho"] = rho ? json(*rho) : json();
  if (topology.schedule())
    document["schedule"] = document_of(schedule_numbers(*topology.schedule(), topology.workers()));
  return document;
}

std::string text_of(const Topology& topology, double rate, const std::optional<Spectral>& numbers) {
  std::string text = fmt::format("{}: {} workers, communication rate {}\n\n", topology.kind(),
                                 topology.workers(), rate);
  int fewest = topology.neighbour_count(0), most = fewest;
  for (int i = 1; i < topology.workers(); ++i) {
    fewest = std::min(fewest, topology.neighbour_count(i));
    most = std::max(most, topology.neighbour_count(i));
  }
  text += fmt::format("  edges        {}\n", topology.edge_count());
  text += fewest == most ? fmt::format("  neighbours   {} each\n", most)
                         : fmt::format("  neighbours   {} to {}\n", fewest, most);
  if (numbers)
    for (const auto& [key, symbol, value] : numbers->named())
      text += fmt::format("  {}{:{}}{:.6g}\n", symbol, "", 13 - terminal_columns(symbol), value);
  if (const auto rho = rho_of(topology))
    text += fmt::format(
        "  ρ            {:.6g} of differences is left by an exchange of rounds, Metropolis "
        "weights\n",
        *rho);
  if (topology.edge_count() == 0) return text;
  if (topology.schedule())
    text +=
        "\nThe graph changes from exchange to exchange of a run of rounds:\n\n" +
        text_of_schedule(document_of(schedule_numbers(*topology.schedule(), topology.workers())));
  if (topology.edge_count() > kMostEdgesInText)
    return text + "\nThe edges are too many to list here; --json has them.\n";
  Table table{{of_numbers("i"), of_numbers("j"), of_numbers("λ")}, {}};
  topology.for_each_edge([&](const Edge& edge) {
    table.rows.push_back({fmt::format("{}", edge.i), fmt::format("{}", edge.j),
                          fmt::format("{:.6g}", topology.edge_rate(edge.i, edge.j, rate))});
  });
  return text + "\n" + to_text(table, lines_of_standard_output());
}

Exit show_topology(const Session&, const TopologyOptions& options) {
  if (!std::isfinite(options.rate)) throw UsageError("--rate needs a finite number");
  const Topology topology = topology_of(options);
  std::optional<Spectral> numbers;
  if (topology.workers() > 1) numbers = spectral(topology, options.rate);
  if (options.format.json)
    print_json(document_of(topology, options.rate, numbers), -1);
  else
    print_data(text_of(topology, options.rate, numbers));
  return Exit::ok;
}

}  // namespace

void add_topology_command(CLI::App& app, Session& session) {
  auto [command, options] = add_command<TopologyOptions>(
      app, session, "topology", "Show a graph's edges and the numbers that govern gossip",
      show_topology);
  std::string kinds;
  for (const TopologyEntry& entry : topology_catalog())
    kinds += (kinds.empty() ? "" : ", ") + std::string(entry.name);
  add_argument(command, "KIND", options.kind, kinds)->required();
  add_argument(command, "N", options.workers, "Number of workers")
      ->required()
      ->check(CLI::Range(1, 100'000'000).description(""));
  add_value(command, "--rate", options.rate, "R",
            "Exchanges per worker and gradient (communication rate; default: 1)")
      ->check(above_zero());
  add_repeated(command, "--option", options.options, "K=V",
               "An option of the kind, such as degree=4; may be given several times");
  add_json_option(command, options.format);
}

}  // namespace acid

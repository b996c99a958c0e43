#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "engine/base/names.hpp"
#include "engine/methods/method.hpp"
#include "reports/html/markup.hpp"
#include "reports/html/sections.hpp"
#include "reports/numbers.hpp"

namespace acid {
namespace {

constexpr std::array kGossipColumns{Shown{"rate", "r", ""}, Shown{"lambda2", "λ₂", ""},
                                    Shown{"chi1", "χ₁", ""}, Shown{"chi2", "χ₂", ""}};
constexpr std::array kRoundColumns{
    Shown{"left", "ℓ", "what an exchange of rounds leaves of differences, gradients apart"},
    Shown{"expected_chi1", "χ₁, expected graph", ""},
    Shown{"expected_chi2", "χ₂, expected graph", ""},
    Shown{"period_left", "ℓ, period", "what a period of a graph that changes leaves at most"}};
constexpr std::array kRealisedColumns{Shown{"realised_rate", "r, realised", ""},
                                      Shown{"realised_chi1", "χ₁, realised", ""},
                                      Shown{"realised_chi2", "χ₂, realised", ""}};

// The columns that some network has a number for.
std::vector<Shown> columns_of(const ReportData& data) {
  std::set<std::string> algorithms;
  for (const ComparedGroup& group : data.comparison.groups) algorithms.insert(group.algorithm);
  std::vector<Shown> columns(kGossipColumns.begin(), kGossipColumns.end());
  for (const Shown& shown : shown_by(algorithms)) columns.push_back(shown);
  columns.insert(columns.end(), kRoundColumns.begin(), kRoundColumns.end());
  columns.insert(columns.end(), kRealisedColumns.begin(), kRealisedColumns.end());
  std::erase_if(columns, [&](const Shown& column) {
    return std::ranges::none_of(data.networks, [&](const GroupNetwork& network) {
      return network.numbers.contains(std::string(column.key));
    });
  });
  return columns;
}

bool has_rates(const GroupNetwork& network) {
  for (const RatedEdge& edge : network.edges)
    if (edge.nominal > 0 || edge.realised > 0) return true;
  return false;
}

std::string network_title(const GroupNetwork& network) {
  return fmt::format("{}, {}", network.kind, counted(network.workers, "worker"));
}

std::string drawings(const ReportData& data) {
  std::string out;
  std::set<std::string> drawn;
  for (std::size_t g = 0; g < data.networks.size(); ++g) {
    const GroupNetwork& network = data.networks[g];
    const std::string title = network_title(network);
    if (network.workers < 2) continue;
    // The same kind and size can be another graph: another seed, another degree.
    std::string fingerprint = title;
    if (network.workers <= kMostDrawnWorkers)
      for (const RatedEdge& edge : network.edges)
        fingerprint += fmt::format(" {}-{}", edge.i, edge.j);
    if (!drawn.insert(fingerprint).second) continue;
    const auto not_drawn = [&](const std::string& why) {
      return PageFigure{.css_class = "small", .caption = escaped(title), .below = note(why)}.html();
    };
    if (network.workers > kMostDrawnWorkers)
      out += not_drawn(fmt::format("Not drawn: more than {} workers.", kMostDrawnWorkers));
    else if (network.edges.empty())
      out += not_drawn("No edges were recorded.");
    else
      out += topology_figure(data, g).html();
  }
  return out.empty() ? "" : "<div class=\"smalls\">\n" + out + "</div>\n";
}

std::string spectral_table(const ReportData& data) {
  HtmlTable table;
  table.csv = "network";
  table.caption =
      "Numbers that govern gossip: λ₂ is the smallest positive eigenvalue of Λ, "
      "χ₁ = 1/λ₂, χ₂ half the largest effective resistance of an edge";
  table.head = {"algorithm"};
  const std::vector<Shown> columns = columns_of(data);
  if (columns.empty()) return "";
  for (const Shown& column : columns) {
    table.head.emplace_back(column.symbol);
    if (!column.help.empty())
      table.caption += fmt::format("; {} is {}", column.symbol, column.help);
  }
  table.caption += ". Fit: p of the χ² test of the exchanges per edge against λᵢⱼ.";
  table.head.emplace_back("fit");
  for (std::size_t g = 0; g < data.networks.size(); ++g) {
    const GroupNetwork& network = data.networks[g];
    if (network.numbers.empty()) continue;
    std::vector<Markup> row{text(full_label(data, g))};
    for (const Shown& column : columns) {
      const auto found = network.numbers.find(std::string(column.key));
      row.push_back(found == network.numbers.end()
                        ? Markup{"–"}
                        : number_text(format_number(found->second), found->second));
    }
    row.push_back(network.deviation_p
                      ? number_text(format_p(network.deviation_p), *network.deviation_p)
                      : Markup{"–"});
    table.rows.push_back(std::move(row));
  }
  return table.html();
}

std::string pairings(const ReportData& data) {
  std::vector<std::string> figures;
  for (std::size_t g = 0; g < data.networks.size(); ++g)
    figures.push_back(pairing_figure(data, g).html());
  const std::string body = figures_by_point(data, "smalls", "Pairings", figures);
  return body.empty() ? "" : "<h3>Who averaged with whom</h3>\n" + body;
}

std::string worker_bars(const ReportData& data) {
  std::vector<std::string> figures;
  for (std::size_t g = 0; g < data.networks.size(); ++g)
    figures.push_back(worker_figure(data, g, false).html() + worker_figure(data, g, true).html());
  const std::string body = figures_by_point(data, "smalls", "Workers", figures);
  return body.empty() ? "" : "<h3>Workers</h3>\n" + paragraph("Means over seeds.") + body;
}

}  // namespace

PageFigure topology_figure(const ReportData& data, std::size_t g) {
  const GroupNetwork& network = data.networks[g];
  if (network.workers < 2 || network.workers > kMostDrawnWorkers || network.edges.empty())
    return {};
  return draw_topology(fmt::format("topology-{}", g), network_title(network), network.workers,
                       network.edges, network.grid_columns);
}

PageFigure pairing_figure(const ReportData& data, std::size_t g) {
  const GroupNetwork& network = data.networks[g];
  if (!has_rates(network) || network.workers > kMostDrawnWorkers) return {};
  return draw_pairing(fmt::format("pairing-{}", g), full_label(data, g), network.workers,
                      network.edges);
}

PageFigure worker_figure(const ReportData& data, std::size_t g, bool idle) {
  const GroupNetwork& network = data.networks[g];
  const std::vector<double>& values = idle ? network.worker_idle_share : network.worker_gradients;
  // A run without gradients, or workers that were never idle.
  if (network.workers < 2 || std::ranges::none_of(values, [](double value) { return value > 0; }))
    return {};
  return draw_bars(fmt::format("{}-{}", idle ? "idle" : "gradients", g),
                   full_label(data, g) + (idle ? ": share of time idle" : ": gradients"),
                   data.styles[g], values, idle);
}

std::string network_section(const ReportData& data) {
  return drawings(data) + spectral_table(data) + pairings(data) + worker_bars(data);
}

}  // namespace acid

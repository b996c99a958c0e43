#include "bench/results.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/names.hpp"
#include "engine/environment/environment.hpp"
#include "reports/numbers.hpp"
#include "reports/text_table.hpp"

namespace acid::bench {
namespace {

using nlohmann::json;

constexpr const char* kNothing = "–";

std::string text_of(std::optional<double> value, int digits = 3) {
  return value ? format_number(*value, digits) : kNothing;
}

std::string wanted_text(const Row& row) {
  if (!row.wanted) return kNothing;
  const bool ratio = row.wanted->of == Wanted::Of::ratio;
  return fmt::format("{} {}{}", row.wanted->sense == Wanted::Sense::at_least ? "≥" : "≤",
                     format_number(row.wanted->bound), ratio ? " ×" : " " + row.unit);
}

std::string verdict(const Row& row) {
  const auto reached = met(row);
  if (!reached) return kNothing;
  std::string text = *reached ? "met" : "not met";
  if (row.measured.size() < kRoundsOfAVerdict)
    text += fmt::format(" in {}", counted(row.measured.size(), "round"));
  return text;
}

std::string ratio_text(const Row& row) {
  const auto ratio = ratio_spread(row);
  if (!ratio) return kNothing;
  return fmt::format("{}–{}–{}", format_number(ratio->least, 3), format_number(ratio->median, 3),
                     format_number(ratio->most, 3));
}

// CPU milliseconds per gradient of both sides.
std::string cpu_text(const Row& row) {
  const auto own = cpu_seconds_per_gradient(row.measured);
  const auto peer = cpu_seconds_per_gradient(row.peers);
  if (!own) return kNothing;
  return fmt::format("{} / {}", format_number(1e3 * *own, 3),
                     peer ? format_number(1e3 * *peer, 3) : kNothing);
}

json spread_json(const Spread& spread) {
  return {{"min", spread.least}, {"median", spread.median}, {"max", spread.most}};
}

json side_json(const Spread& spread, std::span<const Sample> samples) {
  json side = spread_json(spread);
  side["rounds"] = json::array();
  for (const Sample& sample : samples) side["rounds"].push_back(sample.value);
  return side;
}

json or_null(std::optional<double> value) { return value ? json(*value) : json(); }

json wanted_json(const Row& row) {
  if (!row.wanted) return nullptr;
  const char* sense = row.wanted->sense == Wanted::Sense::at_least ? "at_least" : "at_most";
  return {{"of", row.wanted->of == Wanted::Of::ratio ? "ratio" : "value"},
          {sense, row.wanted->bound}};
}

json row_json(const Row& row) {
  json out = {{"command", row.command},
              {"what", row.what},
              {"unit", row.unit},
              {"measured", side_json(measured_spread(row), row.measured)},
              {"peer", nullptr},
              {"ratio", nullptr},
              {"wanted", wanted_json(row)},
              {"met", nullptr},
              {"cpu_seconds_per_gradient",
               {{"measured", or_null(cpu_seconds_per_gradient(row.measured))},
                {"peer", or_null(cpu_seconds_per_gradient(row.peers))},
                {"ratio", or_null(cpu_ratio(row))}}}};
  if (const auto peer = peer_spread(row)) {
    out["peer"] = side_json(*peer, row.peers);
    out["peer"]["what"] = row.peer;
    out["ratio"] = spread_json(*ratio_spread(row));
  }
  if (const auto reached = met(row)) out["met"] = *reached;
  return out;
}

// The facts about the machine on which a ratio can depend.
json machine_json() {
  const json all = environment("");
  json machine;
  for (const char* key : {"cpu_model", "cpu_features", "cores", "memory_bytes", "compiler",
                          "compiler_flags", "acid_version", "git_commit", "git_dirty"})
    machine[key] = all.at(key);
  return machine;
}

}  // namespace

std::string results_table(std::span<const Row> rows) {
  if (rows.empty()) return {};
  using enum TextTable::Align;
  TextTable table;
  table.lines.cut = false;
  table.alignment = {left, right, left, right, left, left, left, left, right};
  table.rows.push_back({"what", "measured", "unit", "peer", "which is", "ratio min–median–max",
                        "wanted", "", "CPU ms per gradient"});
  for (const Row& row : rows) {
    const auto peer = peer_spread(row);
    table.rows.push_back({row.what, text_of(measured_spread(row).median), row.unit,
                          text_of(peer ? std::optional(peer->median) : std::nullopt),
                          row.peer.empty() ? kNothing : row.peer, ratio_text(row), wanted_text(row),
                          verdict(row), cpu_text(row)});
  }
  const bool few = std::any_of(rows.begin(), rows.end(), [](const Row& row) {
    return row.wanted && row.measured.size() < kRoundsOfAVerdict;
  });
  if (!few) return table.str();
  return table.str() + fmt::format("fewer than {} rounds: not a verdict\n", kRoundsOfAVerdict);
}

json results_json(std::span<const Row> rows, const Options& options) {
  json list = json::array();
  for (const Row& row : rows) list.push_back(row_json(row));
  return {{"schema_version", 1},
          {"machine", machine_json()},
          {"rounds", options.rounds},
          {"rows", std::move(list)}};
}

}  // namespace acid::bench

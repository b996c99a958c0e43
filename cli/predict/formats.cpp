#include "cli/predict/formats.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "cli/terminal/session.hpp"
#include "exports/text.hpp"
#include "reports/numbers.hpp"
#include "reports/settings.hpp"

namespace acid {
namespace {

using nlohmann::json;

// "310 MB/s" for a key whose name ends with its unit.
std::string with_unit(const std::string& key, double value) {
  if (key.ends_with("bytes_per_second")) return format_bytes(value) + "/s";
  if (key.ends_with("_seconds")) return format_seconds(value);
  if (key.ends_with("_bytes")) return format_bytes(value);
  return format_number(value);
}

// "alternating-exponential-ring workers_per_node 8" of a table with a kind.
std::string brief_value(const json& value) {
  if (!value.is_object() || !value.contains("kind")) return value_text(value);
  std::string words = value_text(value["kind"]);
  for (const auto& [key, option] : value.items())
    if (key != "kind") words += fmt::format(" {} {}", key, value_text(option));
  return words;
}

std::string setting_words(const json& settings) {
  std::vector<std::string> words;
  for (const auto& [key, value] : settings.items())
    words.push_back(fmt::format("{} {}", brief_key(key), brief_value(value)));
  return fmt::format("{}", fmt::join(words, ", "));
}

json json_of(const PredictedRow& row) {
  const Prediction& p = row.prediction;
  json one{{"algorithm", row.run->algorithm},
           {"label", row.run->label},
           {"name", row.name},
           {"group", row.run->group},
           {"settings", row.settings},
           {"iteration_seconds",
            {{"mean", p.iteration_seconds.mean},
             {"low", p.iteration_seconds.low},
             {"high", p.iteration_seconds.high}}},
           {"seconds_of_draws", p.seconds.draws},
           {"simulated_iterations", p.iterations},
           {"budget_iterations", p.budget}};
  one["closed_form_seconds"] = p.closed_form ? json(*p.closed_form) : json();
  for (const auto& [key, range] : p.totals()) {
    one[key] = range->mean;
    one[std::string(key) + "_low"] = range->low;
    one[std::string(key) + "_high"] = range->high;
  }
  return one;
}

std::vector<std::string> keys_of(const std::vector<PredictedRow>& rows) {
  std::set<std::string> keys;
  for (const PredictedRow& row : rows)
    for (const auto& [key, value] : row.settings.items()) keys.insert(key);
  return {keys.begin(), keys.end()};
}

std::vector<std::string> values_of(const PredictedRow& row, const std::vector<std::string>& keys) {
  std::vector<std::string> values;
  for (const std::string& key : keys)
    values.push_back(row.settings.contains(key) ? brief_value(row.settings[key]) : kDash);
  return values;
}

std::string with_spread(const Range& range, std::string (*shown)(double)) {
  if (!std::isfinite(range.mean)) return kDash;
  const double half = range.high - range.mean;
  if (!(half > 1e-9 * range.mean)) return shown(range.mean);
  return fmt::format("{} ± {}", shown(range.mean), format_percent(half / range.mean));
}

std::string plain_number(double value) { return format_number(value); }

// By place, whether it is the fastest: " *" if that can be told, else " ~".
std::vector<std::string> marks_of(const Race::Point& point) {
  std::vector<std::string> marks(point.times.size(), "  ");
  const std::vector<std::size_t> first = leaders(point);
  for (const std::size_t k : first)
    if (marks.size() > 1) marks[k] = first.size() == 1 ? " *" : " ~";
  return marks;
}

// The same by row, among those of its setting.
std::vector<std::string> marks_of(const std::vector<PredictedRow>& rows) {
  std::map<std::string, std::vector<std::size_t>> settings;
  for (std::size_t k = 0; k < rows.size(); ++k) settings[rows[k].settings.dump()].push_back(k);
  std::vector<std::string> marks(rows.size());
  for (const auto& [setting, places] : settings) {
    Race::Point point;
    for (const std::size_t k : places)
      point.times.emplace_back(rows[k].prediction.iteration_seconds);
    const std::vector<std::string> own = marks_of(point);
    for (std::size_t k = 0; k < places.size(); ++k) marks[places[k]] = own[k];
  }
  return marks;
}

Table text_table(const std::vector<PredictedRow>& rows) {
  Table table;
  const std::vector<std::string> keys = keys_of(rows);
  const bool closed = std::ranges::any_of(
      rows, [](const PredictedRow& row) { return row.prediction.closed_form.has_value(); });
  const bool limited =
      std::ranges::any_of(rows, [](const PredictedRow& row) { return row.prediction.is_limited; });
  for (const std::string& key : keys) table.columns.push_back(of_numbers(brief_key(key)));
  table.columns.push_back({"algorithm"});
  table.columns.push_back(of_numbers("s/iteration"));
  if (closed) table.columns.push_back(of_numbers("closed form"));
  for (const char* const title : {"gradients/s", "time", "bytes", "idle"})
    table.columns.push_back(of_numbers(title));
  if (limited) table.columns.push_back(of_numbers("gradients"));
  const std::vector<std::string> marks = marks_of(rows);
  for (const PredictedRow& row : rows) {
    const Prediction& p = row.prediction;
    table.rows.push_back(values_of(row, keys));
    auto& cells = table.rows.back();
    cells.push_back(row.name);
    cells.push_back(with_spread(p.iteration_seconds, &plain_number) + marks[table.rows.size() - 1]);
    if (closed) cells.push_back(short_number(p.closed_form));
    cells.push_back(with_spread(p.gradients_per_second, &plain_number));
    cells.push_back(with_spread(p.seconds, &format_seconds));
    cells.push_back(with_spread(p.bytes, [](double bytes) { return format_bytes(bytes); }));
    cells.push_back(fmt::format("{:.1f} %", 100 * p.idle_share.mean));
    if (limited) cells.push_back(with_spread(p.gradients, &plain_number));
  }
  return table;
}

// A row for each value, a column for each algorithm.
Table race_table(const Race& race, const OverAxis& axis) {
  Table table{{of_numbers(brief_key(axis.key))}, {}};
  for (const std::string& name : race.names) table.columns.push_back(of_numbers(name));
  for (const Race::Point& point : race.points) {
    if (!point.asked) continue;
    const std::vector<std::string> marks = marks_of(point);
    std::vector<std::string> row{with_unit(axis.key, point.value)};
    for (std::size_t name = 0; name < race.names.size(); ++name)
      row.push_back(point.times[name] ? format_number(point.times[name]->mean) + marks[name]
                                      : fmt::format("{}  ", kDash));
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::string text_of_races(const PredictedRecipe& answer) {
  const TextLines lines = lines_of_standard_output();
  std::string text;
  for (const auto& [setting, race] : answer.races) {
    if (!setting.empty()) text += fmt::format("{}\n", setting_words(setting));
    text += to_text(race_table(race, *answer.axis), lines);
    const std::string words =
        words_of(race, [&](double value) { return with_unit(answer.axis->key, value); });
    if (!words.empty()) text += "\n" + wrapped(words, lines.prose()) + "\n";
    text += "\n";
  }
  return text;
}

// What is to be known of the numbers above.
std::string notes_of(const PredictedRecipe& answer) {
  std::vector<std::string> notes;
  notes.push_back(
      fmt::format("Means of {} draws of durations and partners; {} holds one further "
                  "run with a chance of 90 %.",
                  answer.effort.draws, answer.axis ? "an interval" : "±"));
  notes.emplace_back(
      "Seconds per iteration: one gradient of each worker. * is the fastest at its setting; those "
      "with ~ cannot be told apart: the difference of one further pair of runs may be 0, by its "
      "90 % interval.");
  const auto any = [&](auto holds) { return std::ranges::any_of(answer.rows, holds); };
  const auto is_part = [](const PredictedRow& row) {
    return row.prediction.iterations < row.prediction.budget;
  };
  if (any(is_part)) {
    double fewest = kNever, most = 0;
    for (const PredictedRow& row : answer.rows)
      if (is_part(row)) {
        fewest = std::min(fewest, row.prediction.iterations);
        most = std::max(most, row.prediction.iterations);
      }
    notes.push_back(
        fmt::format("The first {:.0f}{} iterations of longer budgets are simulated, and "
                    "the rest is taken to go on as their second half did; --iterations chooses how "
                    "many.",
                    fewest, fewest < most ? fmt::format(" to {:.0f}", most) : ""));
  }
  if (std::ranges::any_of(answer.races, [](const auto& one) { return one.second.coarse; }))
    notes.emplace_back(
        "To look closer at all places where this changes would take long: some of the ends above "
        "are only as near as the values of --over. Narrower ranges or fewer --draws find them.");
  if (!answer.axis &&
      any([](const PredictedRow& row) { return row.prediction.closed_form.has_value(); }))
    notes.emplace_back(
        "The closed form holds in steady state, once messages are under way (docs/PREDICTION.md).");
  if (any([&](const PredictedRow& row) { return is_part(row) && row.prediction.has_pauses; }))
    notes.emplace_back("Pauses of workers count as if they came again and again.");
  if (any([](const PredictedRow& row) { return row.prediction.has_target; }))
    notes.emplace_back("A target may end runs earlier.");
  if (any([](const PredictedRow& row) { return row.prediction.sends_again; }))
    notes.emplace_back("Bytes that a lattice codec sends again are left out.");
  std::string text;
  for (const std::string& note : notes)
    text += wrapped(note, lines_of_standard_output().prose()) + "\n";
  return text;
}

}  // namespace

json to_json(const PredictedRecipe& answer) {
  json document{{"name", answer.plan.name},
                {"recipe_digest", answer.plan.recipe_digest},
                {"draws", answer.effort.draws},
                {"seeds", answer.seeds},
                {"predictions", json::array()},
                {"crossovers", json::array()},
                {"left_out", to_json(answer.plan.left_out)}};
  for (const PredictedRow& row : answer.rows) document["predictions"].push_back(json_of(row));
  for (const auto& [setting, race] : answer.races)
    for (const Crossover& one : crossovers(race))
      document["crossovers"].push_back({{"key", answer.axis->key},
                                        {"value", one.value},
                                        {"low", one.low},
                                        {"high", one.high},
                                        {"from", race.names[one.from]},
                                        {"to", race.names[one.to]},
                                        {"settings", setting}});
  return document;
}

Table exact_table(const PredictedRecipe& answer) {
  Table table;
  const std::vector<std::string> keys = keys_of(answer.rows);
  for (const std::string& key : keys) table.columns.push_back(of_numbers(key));
  table.columns.push_back({"algorithm"});
  const auto add_column = [&](const std::string& name) {
    for (const char* const end : {"", "_low", "_high"})
      table.columns.push_back(of_numbers(name + end));
  };
  add_column("iteration_seconds");
  for (const auto& [name, range] : Prediction().totals()) add_column(std::string(name));
  for (const char* const name :
       {"closed_form_seconds", "simulated_iterations", "budget_iterations"})
    table.columns.push_back(of_numbers(name));
  const auto digits = [](double value) { return std::isnan(value) ? "" : exact_digits(value); };
  for (const PredictedRow& row : answer.rows) {
    const Prediction& p = row.prediction;
    table.rows.push_back(values_of(row, keys));
    auto& cells = table.rows.back();
    cells.push_back(row.name);
    const auto add = [&](const Range& range) {
      for (const double value : {range.mean, range.low, range.high}) cells.push_back(digits(value));
    };
    add(p.iteration_seconds);
    for (const auto& [name, range] : p.totals()) add(*range);
    for (const double value : {p.closed_form.value_or(std::nan("")), p.iterations, p.budget})
      cells.push_back(digits(value));
  }
  return table;
}

std::string to_text(const PredictedRecipe& answer) {
  return (answer.axis ? text_of_races(answer)
                      : to_text(text_table(answer.rows), lines_of_standard_output()) + "\n") +
         notes_of(answer);
}

}  // namespace acid

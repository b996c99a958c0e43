// A selection for people and for programs.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "engine/base/error.hpp"
#include "engine/base/names.hpp"
#include "reports/comparison.hpp"
#include "reports/selection.hpp"
#include "reports/settings.hpp"
#include "reports/text_table.hpp"

namespace acid {
namespace {

using nlohmann::json;

constexpr std::size_t kMostEdges = 6;

/// A kind is named by its table.
std::string column_of(const std::string& key) {
  return last_word(key.ends_with(".kind") ? table_of_key(key) : key);
}

std::string name_of(const Selection::Choice& choice) {
  const std::string title = title_of(choice);
  return choice.label + (title.empty() ? "" : fmt::format(" ({})", title));
}

const json& chosen(const Selection::Choice& choice, const std::string& key) {
  const auto place = std::ranges::find(choice.keys, key) - choice.keys.begin();
  return choice.winner().values[static_cast<std::size_t>(place)];
}

std::string count_words(const Selection::Choice& choice) {
  return fmt::format("{}, {}", counted(choice.candidates.size(), "value"),
                     counted(choice.runs(), "run"));
}

/// With the gradients, if they are known.
std::string size_words(const Selection::Choice& choice) {
  const auto gradients = static_cast<std::uint64_t>(choice.gradients());
  return count_words(choice) + (gradients > 0 ? ", " + counted(gradients, "gradient") : "");
}

/// Whether both are at one setting: those that a method does not read are null.
bool meet(const Selection::Choice& a, const Selection::Choice& b) {
  return std::ranges::equal(a.settings, b.settings, [](const auto& one, const auto& other) {
    return one.second.is_null() || other.second.is_null() || one.second == other.second;
  });
}

/// Whether every algorithm at a setting was given as many gradients.
bool has_equal_gradients(const Selection& selection) {
  for (const Selection::Choice& one : selection.choices)
    for (const Selection::Choice& other : selection.choices)
      if (one.gradients() != other.gradients() && meet(one, other)) return false;
  return true;
}

/// "4 values, 8 runs, 2400 gradients each", of searches that are equal.
std::string equal_words(const Selection& selection) {
  const auto same = [&](const Selection::Choice& choice) {
    return choice.gradients() == selection.choices.front().gradients();
  };
  if (std::ranges::all_of(selection.choices, same))
    return size_words(selection.choices.front()) + " each";
  return count_words(selection.choices.front()) +
         " each, with as many gradients for every algorithm at a setting";
}

/// "optimizer.learning_rate chosen for each algorithm", or by name where not all have the same
/// keys.
std::string chosen_for(const Selection& selection, bool of_all) {
  std::vector<std::pair<std::vector<std::string>, std::vector<std::string>>> labels;  // by keys
  for (const Selection::Choice& choice : selection.choices) {
    of_all = of_all && !choice.keys.empty();
    if (choice.keys.empty()) continue;
    auto same = std::ranges::find(labels, choice.keys, [](const auto& one) { return one.first; });
    if (same == labels.end()) same = labels.insert(same, {choice.keys, {}});
    if (std::ranges::find(same->second, choice.label) == same->second.end())
      same->second.push_back(choice.label);
  }
  std::vector<std::string> words;
  for (const auto& [keys, names] : labels)
    words.push_back(fmt::format("{} chosen for {}", fmt::join(keys, ", "),
                                of_all && labels.size() == 1
                                    ? "each algorithm"
                                    : fmt::format("{}", fmt::join(names, ", "))));
  return fmt::format("{}", fmt::join(words, "; "));
}

/// "; by successive halving: 4 values with 1/4 of the budget, 2 with 1/2 of the budget"
std::string rungs_words(const Selection& selection) {
  std::vector<std::string> rungs;
  for (const Selection::Rung& rung : selection.rungs)
    rungs.push_back(
        fmt::format("{} with {}",
                    rungs.empty() ? counted(rung.values, "value") : fmt::format("{}", rung.values),
                    share_of_budget(rung.share)));
  return rungs.empty() ? ""
                       : fmt::format("; by successive halving, the same for every algorithm: {}",
                                     fmt::join(rungs, ", then "));
}

/// "the largest of 4" or "the least of 4".
std::string edge_words(const Selection::Choice& choice, const std::string& key) {
  const auto k =
      static_cast<std::size_t>(std::ranges::find(choice.keys, key) - choice.keys.begin());
  std::set<double> tried;
  for (const Selection::Candidate& candidate : choice.candidates)
    if (candidate.values[k].is_number()) tried.insert(candidate.values[k].get<double>());
  return fmt::format(
      "the {} of {}",
      choice.winner().values[k].get<double>() == *tried.begin() ? "least" : "largest",
      tried.size());
}

std::string edges_note(const Selection& selection) {
  std::vector<std::string> named;
  std::size_t more = 0;
  for (const Selection::Choice& choice : selection.choices)
    for (const std::string& key : choice.edges) {
      if (named.size() == kMostEdges) {
        ++more;
        continue;
      }
      named.push_back(fmt::format("{}: {} = {}, {}", name_of(choice), key,
                                  value_text(chosen(choice, key)), edge_words(choice, key)));
    }
  if (named.empty()) return {};
  return fmt::format("on the edge of what was tried, so that a better value may lie beyond: {}{}",
                     fmt::join(named, "; "), more > 0 ? fmt::format("; and {} more", more) : "");
}

/// By label, in order; several sizes of one label are all named.
std::string sizes_note(const Selection& selection) {
  std::vector<std::string> sizes, of_labels;
  for (const Selection::Choice& choice : selection.choices) {
    const std::string words = count_words(choice);
    if (std::ranges::find(sizes, words) == sizes.end()) sizes.push_back(words);
    const std::string one = fmt::format("{} {}", choice.label, size_words(choice));
    if (std::ranges::find(of_labels, one) == of_labels.end()) of_labels.push_back(one);
  }
  if (sizes.size() < 2 && has_equal_gradients(selection)) return {};
  return fmt::format("unequal searches: {}; an algorithm that tries more values finds better ones",
                     fmt::join(of_labels, "; "));
}

}  // namespace

std::string share_of_budget(double share) {
  return share < 1 ? fmt::format("1/{:.0f} of the budget", 1 / share) : "the whole budget";
}

std::string title_of(const Selection::Choice& choice) {
  auto settings = choice.settings;
  std::erase_if(settings, [](const auto& setting) { return setting.second.is_null(); });
  return settings_title(settings);
}

std::string chosen_line(const Selection::Choice& choice) {
  const std::string title = title_of(choice);
  return fmt::format("{}{}: {}, of {}", choice.label, title.empty() ? "" : " at " + title,
                     chosen_words(choice), tried_words(choice));
}

std::string chosen_words(const Selection::Choice& choice) {
  std::vector<std::string> values;
  for (const std::string& key : choice.keys)
    values.push_back(fmt::format("{} = {}", last_word(key), value_text(chosen(choice, key))));
  return fmt::format("{}", fmt::join(values, ", "));
}

std::string tried_words(const Selection::Choice& choice) {
  std::string words = size_words(choice);
  for (const std::string& key : choice.edges)
    words += fmt::format(", {}{}", choice.keys.size() > 1 ? last_word(key) + " " : "",
                         edge_words(choice, key));
  if (choice.winner().n == 0) words += ", all diverged";
  return words;
}

std::vector<ComparedNote> selection_notes(const Selection& selection, bool of_all) {
  std::vector<ComparedNote> notes;
  const auto add = [&](NoteKind kind, std::string text) {
    notes.push_back({kind, std::move(text)});
  };
  const std::string sizes = sizes_note(selection);
  add(NoteKind::chosen,
      fmt::format("{}{} by the mean of {} over seed{} {}{}{}{}", chosen_for(selection, of_all),
                  selection.settings().empty() ? "" : " and setting", selection.metric,
                  selection.seeds.size() == 1 ? "" : "s", fmt::join(selection.seeds, ", "),
                  sizes.empty() ? ": " + equal_words(selection) : "", rungs_words(selection),
                  selection.same_seeds ? "" : "; what is compared ran on other seeds"));
  if (!sizes.empty()) add(NoteKind::unequal_search, sizes);
  if (selection.on_test)
    add(NoteKind::chosen_on_test,
        fmt::format(
            "CHOSEN ON THE TEST SET: {} is measured on it, so its values here are better than they "
            "would be on new data; task.validation holds out data to choose on",
            selection.metric));
  if (selection.same_seeds)
    add(NoteKind::same_seeds,
        "CHOSEN AND COMPARED ON THE SAME SEEDS: every algorithm looks better than "
        "it is, and no p here is one of a test");
  if (std::string edges = edges_note(selection); !edges.empty()) {
    add(NoteKind::on_edge, std::move(edges));
    for (const Selection::Choice& choice : selection.choices)
      if (!choice.edges.empty()) notes.back().groups.push_back(choice.winner().group);
  }
  for (const Selection::Choice& choice : selection.choices)
    if (choice.winner().n == 0)
      notes.push_back({NoteKind::search_diverged,
                       fmt::format("{}: every value diverged on every seed", name_of(choice)),
                       {choice.winner().group}});
  return notes;
}

std::string selection_table(const Selection& selection, const TextLines& lines) {
  const std::set<std::string> settings = selection.settings(), keys = selection.keys();
  TextTable table{
      .alignment = {TextTable::Align::left}, .rows = {{""}}, .indent = "  ", .lines = lines};
  const auto add_column = [&](const std::string& title, TextTable::Align align) {
    table.alignment.push_back(align);
    table.rows.front().push_back(title);
  };
  for (const std::string& key : settings) add_column(column_of(key), TextTable::Align::right);
  for (const std::string& key : keys) add_column(last_word(key), TextTable::Align::right);
  add_column("", TextTable::Align::left);
  for (const Selection::Choice& choice : selection.choices) {
    std::vector<std::string> row{choice.label};
    for (const auto& [key, value] : choice.settings) row.push_back(value_text(value));
    for (const std::string& key : keys)
      row.push_back(std::ranges::find(choice.keys, key) == choice.keys.end()
                        ? "–"
                        : value_text(chosen(choice, key)));
    row.push_back("of " + tried_words(choice));
    table.rows.push_back(std::move(row));
  }
  return table.str();
}

json to_json(const Selection& selection) {
  json document{{"metric", selection.metric},   {"seeds", selection.seeds},
                {"on_test", selection.on_test}, {"same_seeds", selection.same_seeds},
                {"rungs", json::array()},       {"choices", json::array()}};
  for (const Selection::Rung& rung : selection.rungs)
    document["rungs"].push_back({{"share", rung.share}, {"values", rung.values}});
  for (const Selection::Choice& choice : selection.choices) {
    json settings = json::object(), candidates = json::array();
    for (const auto& [key, value] : choice.settings) settings[key] = value;
    for (const Selection::Candidate& one : choice.candidates)
      candidates.push_back({{"group", one.group},
                            {"values", one.values},
                            {"n", one.n},
                            {"diverged", one.diverged},
                            {"mean", std::isfinite(one.mean) ? json(one.mean) : json()},
                            {"rung", one.rung},
                            {"runs", one.runs},
                            {"gradients", one.gradients}});
    document["choices"].push_back({{"label", choice.label},
                                   {"settings", settings},
                                   {"keys", choice.keys},
                                   {"chosen", choice.chosen},
                                   {"values", choice.candidates.size()},
                                   {"runs", choice.runs()},
                                   {"gradients", choice.gradients()},
                                   {"edges", choice.edges},
                                   {"candidates", candidates}});
  }
  return document;
}

Selection selection_from(const json& document) {
  try {
    Selection selection{.metric = document.at("metric"),
                        .seeds = document.at("seeds"),
                        .on_test = document.at("on_test"),
                        .same_seeds = document.at("same_seeds"),
                        .choices = {}};
    for (const json& rung : document.value("rungs", json::array()))
      selection.rungs.push_back({rung.at("share"), rung.at("values")});
    for (const json& one : document.at("choices")) {
      Selection::Choice choice{.label = one.at("label"),
                               .settings = {},
                               .keys = one.at("keys"),
                               .candidates = {},
                               .chosen = one.at("chosen"),
                               .edges = one.at("edges")};
      for (const auto& [key, value] : one.at("settings").items())
        choice.settings.emplace_back(key, value);
      for (const json& candidate : one.at("candidates")) {
        Selection::Candidate& read = choice.candidates.emplace_back();
        read.group = candidate.at("group");
        read.values = candidate.at("values").get<std::vector<json>>();
        read.n = candidate.at("n");
        read.diverged = candidate.at("diverged");
        read.rung = candidate.value("rung", 1);
        read.runs = candidate.value("runs", read.n + read.diverged);
        read.gradients = candidate.value("gradients", std::int64_t{0});
        if (candidate.at("values").size() != choice.keys.size())
          throw std::out_of_range("a value for each key");
        if (candidate.at("mean").is_number())
          choice.candidates.back().mean = candidate.at("mean").get<double>();
      }
      choice.candidates.at(choice.chosen);
      if (!selection.choices.empty() && !std::ranges::equal(
                                            choice.settings, selection.choices.front().settings, {},
                                            [](const auto& setting) { return setting.first; },
                                            [](const auto& setting) { return setting.first; }))
        throw std::out_of_range("the same settings for all");
      selection.choices.push_back(std::move(choice));
    }
    if (!selection.choices.empty() && !selection.seeds.empty()) return selection;
  } catch (const json::exception&) {
  } catch (const std::out_of_range&) {
  }
  throw StoreError(
      "the choice that a search made is not as acid wrote it: somebody altered the database, or "
      "another version wrote it; 'acid run RECIPE' stores it again");
}

}  // namespace acid

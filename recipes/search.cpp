#include "recipes/search.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/names.hpp"
#include "engine/base/static_text.hpp"
#include "engine/base/utf8.hpp"
#include "engine/recorder/metrics.hpp"
#include "recipes/ranges.hpp"
#include "recipes/seeds.hpp"
#include "settings/run_settings.hpp"
#include "settings/schema.hpp"

namespace acid {
namespace {

constexpr StaticText kMetricsToSearchBy =
    StaticText()
        .names(kMetricsIn<&Metric::search>, ", ", " or ")
        .add("; ")
        .names(kMetricsIn<&Metric::search_without_data>, ", ", " or ")
        .add(" for tasks without examples");
constexpr Fields kSearchKeys = fields<SearchTable>(
    {key_of<SearchTable>("seeds", FieldType::integers, "",
                         "seeds to choose on, none of them a seed of the runs")
         .said("whole numbers and ranges of them", "", "seeds = \"101-104\""),
     key_of<SearchTable>("metric", FieldType::text, "null",
                         "to choose by, its mean over the seeds: the first of these, unless said")
         .said(kMetricsToSearchBy.view(), "", "metric = \"validation_accuracy\""),
     key<&SearchTable::draws>("draws", "null",
                              "try so many random points, in which each key has one value of its "
                              "list or range, in the place of all combinations; a range needs no "
                              "count then",
                              at_least(1).at_most(kMostPoints))
         .said("", "", "draws = 12"),
     key<&SearchTable::halving>("halving", "null",
                                "successive halving: all values begin with a share of the budget, "
                                "and the best of so many go on with so many times as much",
                                at_least(2).at_most(1000))
         .said("", "", "halving = 2"),
     key<&SearchTable::rungs>("rungs", "null",
                              "of successive halving, the last with the whole budget; else as few "
                              "as take at most half of the grid's gradients",
                              at_least(2).at_most(20))
         .said("", "", "rungs = 3"),
     key<&SearchTable::draw_seed>("draw_seed", "0", "other points are drawn with another one",
                                  at_least(0))});

// Other settings say what is trained, for how long, and what is measured; those must be equal.
bool may_be_searched(std::string_view key) {
  const FieldTable* table = &run_table();
  for (const std::string& name : split_path(key)) {
    const Field* const field = table == nullptr ? nullptr : table->find(name);
    if (field == nullptr || field->searched) return field != nullptr;
    table = field->table;
  }
  return false;
}

std::string searched_in(const FieldTable& table, const std::string& path) {
  std::string names;
  for (const Field& field : table.fields) {
    const std::string name = path + std::string(field.name);
    if (field.searched)
      names += name + ", ";
    else if (field.table != nullptr)
      names += searched_in(*field.table, name + ".");
  }
  return names;
}

std::vector<std::uint64_t> search_seeds(const Node* seeds, const Place& place,
                                        std::span<const std::uint64_t> run_seeds,
                                        Diagnostics& out) {
  constexpr const char* kRemedy =
      "list whole numbers that are not among the recipe's seeds: seeds = [101, 102], or "
      "\"101-104\"";
  if (seeds == nullptr || !(seeds->is_text() || (seeds->is_list() && !seeds->children.empty()))) {
    out.error(seeds == nullptr ? place : seeds->place, "search needs a list of seeds of its own",
              kRemedy);
    return {};
  }
  return read_seeds(*seeds, kRemedy, out, [&](std::uint64_t seed) {
    return std::ranges::find(run_seeds, seed) == run_seeds.end()
               ? std::string()
               : fmt::format(
                     "seed {} is one of the runs' seeds: what is chosen on a seed looks "
                     "better there than it is",
                     seed);
  });
}

void refuse_swept(const Node* sweep, const std::vector<SweepPoint>& points, Diagnostics& out) {
  if (sweep == nullptr || points.empty() || points.front().empty()) return;
  Diagnostics ignored("", "", {});  // the sweep's own mistakes are reported elsewhere
  const std::vector<SweepPoint> swept = sweep_points(sweep, ignored);
  for (const Assignment& one : points.front())
    for (const Assignment& other : swept.front())
      if (one.key == other.key)
        out.error(one.value.key_place, fmt::format("'{}' is swept, too", clip(one.key, 60)),
                  "a sweep compares its values, a search chooses one: keep one of them");
}

std::vector<SweepPoint> points_of(const Node& keys, const SearchTable& table, Diagnostics& out) {
  if (!table.draws) return sweep_points(&keys, out);
  return drawn_points(
      keys, {static_cast<std::size_t>(*table.draws), static_cast<std::uint64_t>(table.draw_seed)},
      out);
}

// The last has the whole budget. One with one value left is none.
std::vector<PlannedSearch::Rung> so_many_rungs(std::size_t count, std::size_t factor,
                                               std::size_t values) {
  double shorter = 1;
  for (std::size_t k = 1; k < count; ++k) shorter *= static_cast<double>(factor);
  std::vector<PlannedSearch::Rung> rungs;
  for (std::size_t left = values; left > 1 && shorter >= 1; left /= factor) {
    rungs.push_back({.share = 1 / shorter, .values = left});
    shorter /= static_cast<double>(factor);
  }
  return rungs;
}

// The gradients of a cell, in those of one value with the whole budget.
double cost_of(const std::vector<PlannedSearch::Rung>& rungs) {
  double cost = 0;
  for (const PlannedSearch::Rung& rung : rungs)
    cost += rung.share * static_cast<double>(rung.values);
  return cost;
}

// The keys that no other way of reading is for.
void read_numbers(const Node& search, SearchTable& table, Checker& checker) {
  nlohmann::json numbers;
  for (const Field& field : kSearchKeys.fields)
    if (field.type == FieldType::integer)
      numbers[std::string(field.name)] = checker.member(&search, "search", field);
  kSearchKeys.fill(table, numbers);
  const auto needs = [&](const char* key, bool has_effect, const char* other, const char* remedy) {
    if (const Node* const given = search.find(key); given != nullptr && !has_effect)
      checker.diagnostics().warn(
          given->key_place,
          {fmt::format("search.{} has no effect without {}", key, other), remedy});
  };
  needs("draw_seed", table.draws.has_value(), "draws", "add draws = 12, or remove it");
  needs("rungs", table.halving.has_value(), "halving", "add halving = 2, or remove it");
  if (const Node* const halving = search.find("halving")) table.halving_place = halving->key_place;
}

}  // namespace

const FieldTable& search_keys() { return kTableOf<kSearchKeys>; }

std::optional<SearchTable> read_search(const Node* search, std::span<const std::uint64_t> run_seeds,
                                       const Node* sweep, Checker& checker) {
  Diagnostics& out = checker.diagnostics();
  if (search == nullptr) return std::nullopt;
  if (!search->is_table()) {
    out.error(search->place, fmt::format("search must be a table, not {}", describe(*search)),
              "write [search] with seeds and \"dotted.key\" = [values]");
    return std::nullopt;
  }
  SearchTable table;
  table.place = search->key_place;
  table.seeds = search_seeds(search->find("seeds"), search->key_place, run_seeds, out);
  if (const Node* const metric = search->find("metric")) {
    table.metric_place = metric->place;
    if (metric->is_text())
      table.metric = metric->text();
    else
      out.error(metric->place,
                fmt::format("search.metric must be a name in quotes, not {}", describe(*metric)),
                "metric = \"validation_loss\"");
  }
  const int before = out.reported();
  read_numbers(*search, table, checker);
  if (out.reported() > before) return table;
  Node keys = *search;
  for (const Field& key : kSearchKeys.fields) keys.erase(key.name);
  table.points = points_of(keys, table, out);
  refuse_swept(sweep, table.points, out);
  return table;
}

std::vector<PlannedSearch::Rung> rungs_of(const SearchTable& search, std::size_t values,
                                          Diagnostics& out) {
  if (!search.halving) return {{.share = 1, .values = values}};
  const auto factor = static_cast<std::size_t>(*search.halving);
  if (values == 1) {
    out.error(search.halving_place, "search.halving has one value, and none to leave out",
              "search several values");
    return {};
  }
  if (!search.rungs)
    for (std::size_t count = 2;; ++count)
      if (auto rungs = so_many_rungs(count, factor, values);
          2 * cost_of(rungs) <= static_cast<double>(values))
        return rungs;
  auto rungs = so_many_rungs(static_cast<std::size_t>(*search.rungs), factor, values);
  if (rungs.size() + 1 >= static_cast<std::size_t>(*search.rungs)) return rungs;
  out.error(search.halving_place,
            fmt::format("with halving = {} one of {} is left after rung {}, and {} are asked for",
                        factor, counted(values, "value"), rungs.size(),
                        counted(static_cast<std::uint64_t>(*search.rungs), "rung")),
            "search more values, or use a smaller factor or fewer rungs");
  return {};
}

std::vector<SweepPoint> own_search_points(const Node& search, const SearchTable& table,
                                          Diagnostics& out) {
  if (search.is_table()) return points_of(search, table, out);
  out.error(search.place,
            fmt::format("an algorithm's search must be a table, not {}", describe(search)),
            "search = { optimizer.learning_rate = [0.1, 0.2] }");
  return {};
}

std::vector<std::string> apply_search_point(Node& settings, Node& algorithm,
                                            const SweepPoint& point,
                                            const std::vector<std::string>& sections,
                                            Diagnostics& out) {
  std::vector<std::string> keys;
  const Node* const set = algorithm.find("set");
  const std::vector<Assignment> own =
      set != nullptr && set->is_table() ? set_assignments(*set) : std::vector<Assignment>{};
  for (const Assignment& one : point) {
    const Place& place = one.value.key_place;
    const std::string first = split_path(one.key).front();
    const bool of_section = std::ranges::find(sections, first) != sections.end();
    const bool is_name = first == "kind" || first == "label" || first == "set" || first == "search";
    if (is_name || (of_section && !may_be_searched(one.key)))
      out.error(
          place,
          fmt::format("'{}' cannot be searched: runs that differ in it do not compare",
                      clip(one.key, 60)),
          fmt::format("search keys of {}or the algorithm's own", searched_in(run_table(), "")));
    if (std::ranges::any_of(own, [&](const Assignment& each) { return each.key == one.key; }))
      out.error(place, fmt::format("'{}' is set for an algorithm, and searched", clip(one.key, 60)),
                "take it out of the algorithm's set, or give the algorithm a search of its own");
    if (auto problem =
            assign(of_section ? settings : algorithm, one.key, one.value, Origin::algorithm_set))
      out.error(place, std::move(*problem));
    keys.push_back(of_section ? one.key : "algorithm." + one.key);
  }
  return keys;
}

std::string search_metric(const PlannedRun& run, const SearchTable& search, Diagnostics& out) {
  const TaskSettings task = task_from(run.settings);
  const bool has_data = task.batch_size.has_value();
  if (has_data && task.validation == 0) {
    out.error(search.place, "search chooses on validation data, and there is none",
              "add validation = 0.1 to [task], examples that nothing is trained on");
    return {};
  }
  std::vector<std::string> known = has_data ? names_of(kMetricsIn<&Metric::search>)
                                            : names_of(kMetricsIn<&Metric::search_without_data>);
  std::erase_if(known, [&](const std::string& name) {
    return find_metric(name)->of_accuracy && !run.has_accuracy();
  });
  const std::string metric = search.metric.empty() ? known.front() : search.metric;
  if (std::ranges::find(known, metric) != known.end()) {
    const RunSettings settings = settings_from(run.settings);
    if (settings.budget.target)
      out.warn(
          search.place,
          {fmt::format("the search's runs too end where they reach budget.target, and the last "
                       "{} says only how far beyond it a run came: the fastest need not win",
                       metric),
           "leave the target out of the recipe, and name it afterwards: acid compare --target"});
    const auto& kept = settings.record.metrics;
    if (kept && !kept->contains(metric))
      out.error(search.metric.empty() ? search.place : search.metric_place,
                fmt::format("the search chooses by {}, which record.metrics leaves out", metric),
                fmt::format("add \"{}\" to record.metrics", metric));
    return metric;
  }
  out.error(
      search.metric_place,
      fmt::format(
          "a search of this task cannot choose by '{}'{}", clip(search.metric, 40),
          has_data && search.metric.starts_with("eval_") ? ": it is measured on the test set" : ""),
      fmt::format("choose by {}", one_of(known)));
  return {};
}

}  // namespace acid

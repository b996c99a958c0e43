#include "recipes/reference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "engine/base/error.hpp"
#include "engine/base/names.hpp"
#include "engine/methods/listed.hpp"
#include "engine/methods/method.hpp"
#include "recipes/parse.hpp"
#include "recipes/sections.hpp"

namespace acid {
namespace {

using nlohmann::json;

// Every table that is looked into only where it is written.
constexpr const char* kEveryTable = R"(
[task]
dataset = "glyphs"
model = "linear"
[workers]
count = 8
[budget]
gradients = 100
target = { metric = "eval_loss", value = 0.1 }
[execution.virtual]
random_slowdown = { probability = 0.1, factor = 2.0 }
pauses = [{ worker = 1, at_seconds = 3.0, for_seconds = 2.0 }]
[execution.virtual.network]
edges = [{ edge = [0, 1] }]
)";

struct TableText {
  std::string_view path, summary;
};
constexpr std::array kTables = {
    TableText{"", "the experiment"},
    TableText{"task", "what is trained, and on what"},
    TableText{"task.dataset", "the data; a bare name stands for its kind"},
    TableText{"task.model", "the network; analytic tasks (quadratic, logistic) have none"},
    TableText{"task.augmentation",
              "random changes of the images of gradients, drawn by each worker; evaluations see "
              "them as they are"},
    TableText{"task.partition", "who has which examples"},
    TableText{"optimizer", "how a gradient becomes a step, of every algorithm alike"},
    TableText{"optimizer.schedule", "how the learning rate changes along the budget"},
    TableText{"workers", "how many train"},
    TableText{"topology", "who may talk to whom"},
    TableText{"budget",
              "how long a run is: epochs, gradients or normalised_time; seconds, bytes and target "
              "end it earlier"},
    TableText{"budget.target", "ends a run as soon as a metric is reached"},
    TableText{"algorithms", "what is compared: a table [[algorithms]] for each"},
    TableText{"algorithms.codec", "what receivers get of a message, and what it costs"},
    TableText{"search", "what each algorithm chooses before it is compared"},
    TableText{"comparison", "how the runs are compared; no run depends on it, and no id"},
    TableText{"evaluation", "when metrics are sampled: one of the cadences"},
    TableText{"execution", "where and how a run is executed"},
    TableText{"execution.virtual", "simulated time: what gradients and messages take"},
    TableText{"execution.virtual.compute", "how long gradients take"},
    TableText{"execution.virtual.random_slowdown", "gradients that take longer now and then"},
    TableText{"execution.virtual.pauses", "workers that stop for a while"},
    TableText{"execution.virtual.network", "how long messages take"},
    TableText{"execution.virtual.network.edges", "links that differ from the others"},
    TableText{
        "execution.virtual.network.hubs",
        "the links between hubs and the server above them, where a method has such; absent: as "
        "the others"},
    TableText{"execution.virtual.cost", "what of a gradient messages can overlap"},
    TableText{"execution.threads", "a thread per worker"},
    TableText{"execution.mpi", "a process per worker"},
    TableText{"checkpoint", "when a run is saved"},
    TableText{"record", "what is kept besides the curves"},
    TableText{"streams", "seeds held fixed while those of the runs vary"},
};

// Keys whose values are no plain ones: their tables check them by hand.
struct ByHand {
  std::string_view table;
  RecipeKey key;
};
std::vector<ByHand> of_comparison() {
  return {
      {"",
       {"comparison", "a table", "–",
        "the outcome that the verdict is about and what counts as equal, chosen before the data",
        "comparison = { primary = \"eval_loss\" }"}},
      {"comparison",
       {"primary", "the name of an outcome", "–",
        "what the verdict is about: eval_accuracy, eval_loss, train_loss_at_mean, "
        "consensus_distance_mid or, with budget.target, gradients_to_target, time_to_target, "
        "seconds_to_target or bytes_to_target. Unless said the task decides: with budget.target "
        "gradients_to_target, else accuracy where it has one, else the loss; without gradients "
        "consensus_distance_mid",
        "primary = \"eval_loss\""}},
      {"comparison",
       {"margin", "a table: metric = a number above 0, or a percentage in quotes", "{}",
        "a difference that does not matter, by outcome, in its own unit or as a share of the "
        "baseline's value: algorithms shown to differ by less are equivalent",
        "margin = { eval_accuracy = 0.01, eval_loss = \"2 %\" }"}},
      {"comparison",
       {"consensus_baseline", "a label or a method", "–",
        "the algorithm that consensus distances are tested against; else the first of pairwise "
        "exchanges by rate",
        "consensus_baseline = \"AD-PSGD, rate 2\""}}};
}

const std::vector<ByHand>& of_runs() {
  static const std::vector<ByHand> keys = {
      {"",
       {"name", "text", "–", "what the experiment is called; else as its file",
        "name = \"ring-16\""}},
      {"",
       {"seeds", "whole numbers and ranges of them", "[1]",
        "a run for each, of every algorithm and setting; [\"1-5\", 9] are six",
        "seeds = \"1-30\""}},
      {"",
       {"search", "a table of lists", "–",
        "keys of which each algorithm at each setting first chooses a value, on seeds and examples "
        "of its own; docs/RECIPE.md, [search]",
        "search = { optimizer.learning_rate = [0.1, 0.2], seeds = [101, 102] }"}},
      {"",
       {"sweep", "a table of lists", "–",
        "all combinations of these values; keys that vary together stand in [[sweep.zip]]",
        "sweep = { workers.count = [8, 16], topology.kind = [\"ring\", \"exponential\"] }"}},
      {"",
       {"methods", "a list of tables", "–",
        "methods of your own (docs/METHODS.md), or file = \"…\" that has them", "[[methods]]"}},
      {"task",
       {"validation", "a whole number, or a share below 1", "–",
        "examples taken out of the training set and never trained on, for validation_loss and "
        "validation_accuracy; the same for all methods, workers and seeds",
        "validation = 0.1"}},
      {"algorithms",
       {"label", "text", "–", "what tables and pictures call it; else by its method's name",
        "label = \"AD-PSGD, rate 2\""}},
      {"algorithms",
       {"search", "a table of lists", "–",
        "instead of [search]: settings and keys of this algorithm, as many values as the others "
        "try",
        "search = { optimizer.learning_rate = [0.2, 0.4] }"}},
      {"algorithms",
       {"set", "a table of keys", "–", "settings of this algorithm alone",
        "set = { optimizer.learning_rate = 0.1 }"}},
      {"search",
       {"seeds", "whole numbers and ranges of them", "",
        "to choose on, none of them among those of the runs", "seeds = \"101-104\""}},
      {"search",
       {"metric",
        "validation_loss or validation_accuracy; eval_loss or train_loss_at_mean for "
        "tasks without examples",
        "–", "to choose by, its mean over the seeds: the first of these, unless said",
        "metric = \"validation_accuracy\""}},
      {"execution.virtual",
       {"slow_workers", "worker = a number above 0", "{}",
        "factor by which a worker's gradients take longer", "slow_workers = { 0 = 4.0 }"}},
      {"execution.threads",
       {"slow_workers", "worker = a number from 1", "{}",
        "factor by which a worker's gradients take longer", "slow_workers = { 0 = 4.0 }"}},
      {"execution.mpi",
       {"slow_workers", "worker = a number from 1", "{}",
        "factor by which a worker's gradients take longer", "slow_workers = { 0 = 4.0 }"}},
      {"execution.mpi",
       {"hosts", "a list of texts", "[]", "where the processes run; else here",
        "hosts = [\"node1\", \"node2\"]"}},
      {"execution.mpi",
       {"arguments", "a list of texts", "[]", "more words for the launcher",
        "arguments = [\"--bind-to\", \"core\"]"}},
      {"record",
       {"metrics", "\"all\" or a list of names", "\"all\"", "which metrics are kept",
        "metrics = [\"eval_loss\", \"consensus_distance\"]"}},
  };
  return keys;
}

std::vector<ByHand> by_hand() {
  std::vector<ByHand> keys = of_runs();
  for (ByHand& key : of_comparison()) keys.push_back(std::move(key));
  return keys;
}

// Limits that nobody meets are not worth reading.
std::string with_bounds(std::string what, Field field) {
  constexpr double kBeyondUse = 1e9;
  if (field.maximum >= kBeyondUse) field.maximum = std::numeric_limits<double>::infinity();
  const std::string bounds = bounds_of(field);
  return bounds.empty() ? what : what + " " + bounds;
}

std::string type_of(const Field& field) {
  switch (field.type) {
    case FieldType::boolean:
      return "true or false";
    case FieldType::integer:
      return with_bounds("a whole number", field);
    case FieldType::number:
      return with_bounds("a number", field);
    case FieldType::text:
      return field.choices.empty() ? "text" : one_of(split_choices(field.choices));
    case FieldType::file:
      return "the path of a file or folder";
    case FieldType::integers:
      return with_bounds("a list of whole numbers", field);
    case FieldType::numbers:
      return with_bounds("a list of numbers", field);
    case FieldType::texts:
      return "a list of texts";
    case FieldType::moment:
      return with_bounds("a number", field) + ", or { epochs = … } or { gradients = … }";
    case FieldType::moments:
      return with_bounds("a list of numbers", field) +
             ", or { epochs = […] } or { gradients = […] }";
    case FieldType::edges:
      return "a list of edges [i, j] or [i, j, weight], or a file of them";
    case FieldType::table:
      return "a table of keys of your own";
  }
  return {};
}

// A value that the field takes, for an example: its fallback where it has one.
std::string value_for(const Field& field) {
  if (!field.fallback.empty() && field.fallback != "null") return std::string(field.fallback);
  switch (field.type) {
    case FieldType::boolean:
      return "true";
    case FieldType::integer:
      return fmt::format("{:.0f}", std::max(field.minimum, std::min(field.maximum, 8.0)));
    case FieldType::number:
    case FieldType::moment:
      return std::isfinite(field.maximum) && field.maximum <= 1 ? "0.5" : "2.0";
    case FieldType::text:
      return fmt::format("\"{}\"", field.choices.empty() ? "…" : split_choices(field.choices)[0]);
    case FieldType::file:
      return "\"data\"";
    case FieldType::integers:
      return "[0, 1]";
    case FieldType::numbers:
    case FieldType::moments:
      return "[0.25, 0.5]";
    case FieldType::texts:
      return "[\"bias\", \"norm\"]";
    case FieldType::edges:
      return "[[0, 1], [1, 2]]";
    case FieldType::table:
      return "{ width = 64 }";
  }
  return {};
}

RecipeKey key_of(const Field& field) {
  return {.name = std::string(field.name),
          .type = type_of(field),
          .fallback = field.fallback == "null" ? "–" : std::string(field.fallback),
          .meaning = std::string(field.help),
          .example = fmt::format("{} = {}", field.name, value_for(field))};
}

// As a recipe writes it: what is checked algorithm by algorithm is a list there.
std::string written_path(std::string_view checked) {
  std::string path(checked.substr(0, checked.find('[')));  // of an item of a list: the list
  if (path == "algorithm" || path.starts_with("algorithm.")) path.insert(9, "s");
  return path;
}

class Collector {
 public:
  Collector() {
    for (const TableText& one : kTables) {
      RecipeTable table{.path = std::string(one.path), .summary = std::string(one.summary)};
      table.is_list =
          one.path == "algorithms" || one.path.ends_with("pauses") || one.path.ends_with(".edges");
      for (const ByHand& by : by_hand())
        if (by.table == one.path) table.keys.push_back(by.key);
      tables.push_back(std::move(table));
    }
  }

  void add(const Checker::Declared& declared) {
    const std::string path = written_path(declared.path);
    const auto table = std::ranges::find(tables, path, &RecipeTable::path);
    ACID_ASSERT(table != tables.end(), "no words for the table '{}'", path);
    if (declared.kind == nullptr) return add_key(table->keys, key_of(*declared.field));
    auto kind = std::ranges::find(table->kinds, declared.kind->name, &RecipeKind::name);
    if (kind == table->kinds.end())
      kind = table->kinds.insert(kind, {.name = std::string(declared.kind->name),
                                        .summary = std::string(declared.kind->summary)});
    kind->is_default = kind->is_default || declared.is_default;
    if (declared.field == nullptr) return;
    RecipeKey key = key_of(*declared.field);
    if (path == "algorithms")
      if (const AlgorithmEntry* const entry = find_algorithm(kind->name))
        if (std::string formula = default_formula(*entry, key.name); !formula.empty())
          key.fallback = std::move(formula);
    add_key(kind->keys, std::move(key));
  }

  std::vector<RecipeTable> tables;

 private:
  // Once: some tables are looked for several times.
  static void add_key(std::vector<RecipeKey>& keys, RecipeKey key) {
    if (std::ranges::find(keys, key.name, &RecipeKey::name) == keys.end())
      keys.push_back(std::move(key));
  }
};

}  // namespace

std::vector<RecipeTable> recipe_reference() {
  Diagnostics diagnostics("", kEveryTable, {});
  Checker checker(diagnostics, ".");
  Collector collector;
  checker.tell([&](const Checker::Declared& declared) { collector.add(declared); });
  const std::string algorithm = fmt::format("[algorithm]\nkind = \"{}\"\n", kBaseline);
  const auto tree = parse_recipe(kEveryTable + algorithm, diagnostics);
  ACID_ASSERT(tree.has_value(), "the recipe of every table");
  check_sections(checker, *tree);
  ACID_ASSERT(!diagnostics.has_errors(), "the recipe of every table has errors");
  return std::move(collector.tables);
}

}  // namespace acid

#include "recipes/reference.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "engine/base/error.hpp"
#include "engine/base/names.hpp"
#include "engine/methods/listed.hpp"
#include "engine/methods/method.hpp"
#include "recipes/checker.hpp"
#include "recipes/comparison_section.hpp"
#include "recipes/ranges.hpp"
#include "recipes/search.hpp"
#include "recipes/sweep.hpp"
#include "recipes/units.hpp"
#include "settings/run_settings.hpp"
#include "settings/schema.hpp"

namespace acid {
namespace {

constexpr Fields kTop = fields<Plan>(
    {key_of<Plan>("name", FieldType::text, "null",
                  "name of the experiment; default: that of the file")
         .said("", "", "name = \"ring-16\""),
     key_of<Plan>("seeds", FieldType::integers, "[1]",
                  "one run per seed, for every algorithm and setting; [\"1-5\", 9] are six seeds")
         .said("whole numbers and ranges of them", "", "seeds = \"1-30\""),
     key_of<Plan>("search", FieldType::table, "null",
                  "keys whose values are chosen first, by each algorithm at each setting, on other "
                  "seeds and "
                  "examples; docs/RECIPE.md, [search]")
         .said("a table of lists and ranges", "",
               "search = { optimizer.learning_rate = [0.1, 0.2], seeds = [101, 102] }"),
     key_of<Plan>("sweep", FieldType::table, "null",
                  "all combinations of these values; keys that vary together are in [[sweep.zip]]")
         .said("a table of lists and ranges", "",
               "sweep = { workers.count = [8, 16], topology.kind = [\"ring\", \"exponential\"] }"),
     key_of<Plan>("methods", FieldType::table, "null",
                  "methods of your own (docs/METHODS.md), or file = \"…\" that has them")
         .said("a list of tables", "", "[[methods]]"),
     key_of<Plan>("comparison", FieldType::table, "null",
                  "the outcome that the verdict is about and what counts as equal, chosen before "
                  "the data")
         .said("a table", "", "comparison = { primary = \"eval_loss\" }")});

/// A type's description, with braces for its bounds, and an example value.
struct TypeWords {
  FieldType type;
  const char *words, *example;
};
constexpr std::array kTypes = {
    TypeWords{FieldType::boolean, "true or false", "true"},
    TypeWords{FieldType::integer, "a whole number{}", ""},
    TypeWords{FieldType::number, "a number{}", ""},
    TypeWords{FieldType::bytes, "a whole number{}, or text with a unit (kB, MB, GB, KiB, …)",
              "\"260 MB\""},
    TypeWords{FieldType::file, "the path of a file or folder", "\"data\""},
    TypeWords{FieldType::integers, "a list of whole numbers{}", "[0, 1]"},
    TypeWords{FieldType::numbers, "a list of numbers{}", "[0.25, 0.5]"},
    TypeWords{FieldType::texts, "a list of texts", "[\"bias\", \"norm\"]"},
    TypeWords{FieldType::moment, "a number{}, or {{ epochs = … }} or {{ gradients = … }}", ""},
    TypeWords{FieldType::moments,
              "a list of numbers{}, or {{ epochs = […] }} or {{ gradients = […] }}", "[0.25, 0.5]"},
    TypeWords{FieldType::edges, "a list of edges [i, j] or [i, j, weight], or a file of them",
              "[[0, 1], [1, 2]]"},
    TypeWords{FieldType::table, "a table of keys of your own", "{ width = 64 }"},
};
const TypeWords& words_of(FieldType type) {
  const auto found = std::ranges::find(kTypes, type, &TypeWords::type);
  ACID_ASSERT(found != kTypes.end(), "no words for a type of keys");
  return *found;
}

std::string type_of(Field field) {
  if (!field.words.empty()) return std::string(field.words);
  if (field.type == FieldType::text)
    return field.choices.empty() ? "text" : one_of(split_choices(field.choices));
  constexpr double kBeyondUse = 1e9;  // larger limits are not printed
  if (field.maximum >= kBeyondUse) field.maximum = std::numeric_limits<double>::infinity();
  const std::string bounds = bounds_of(field);
  std::string words =
      fmt::format(fmt::runtime(words_of(field.type).words), bounds.empty() ? bounds : " " + bounds);
  if (field.type == FieldType::number && !units_of(field).empty())
    words += fmt::format(", or text with a unit ({})", fmt::join(names_of(units_of(field)), ", "));
  if (field.choices.empty()) return words;
  for (const std::string& choice : split_choices(field.choices))
    words += fmt::format(", or \"{}\"", choice);
  return words;
}

// An example value of the field: its fallback if it has one.
std::string value_for(const Field& field) {
  if (!field.fallback.empty() && field.fallback != "null") return std::string(field.fallback);
  switch (field.type) {
    case FieldType::integer:
      return fmt::format("{:.0f}", std::max(field.minimum, std::min(field.maximum, 8.0)));
    case FieldType::number:
      if (field.name.ends_with("bytes_per_second"))
        return fmt::format("\"{}\"", example_with_unit(field));
      [[fallthrough]];
    case FieldType::moment:
      return std::isfinite(field.maximum) && field.maximum <= 1 ? "0.5" : "2.0";
    case FieldType::text:
      return fmt::format("\"{}\"", field.choices.empty() ? "…" : split_choices(field.choices)[0]);
    default:
      return words_of(field.type).example;
  }
}

RecipeKey key_of(const Field& field) {
  return {.name = std::string(field.name),
          .type = type_of(field),
          .fallback = field.fallback == "null" ? "–" : std::string(field.fallback),
          .meaning = std::string(field.meaning.empty() ? field.help : field.meaning),
          .example = field.example.empty() ? fmt::format("{} = {}", field.name, value_for(field))
                                           : std::string(field.example)};
}

std::vector<Field> ranked(std::span<const Field> fields) {
  std::vector<Field> sorted(fields.begin(), fields.end());
  std::ranges::stable_sort(sorted, {}, &Field::rank);
  return sorted;
}

std::vector<RecipeKey> keys_of(std::span<const Field> fields) {
  std::vector<RecipeKey> keys;
  for (const Field& field : ranked(fields))
    if (field.table == nullptr) keys.push_back(key_of(field));
  return keys;
}

std::vector<RecipeKey> keys_of(const Kind& method) {
  std::vector<RecipeKey> keys = keys_of(method.fields);
  const AlgorithmEntry& entry = *find_algorithm(method.name);
  for (RecipeKey& key : keys)
    if (std::string formula = default_formula(entry, key.name); !formula.empty())
      key.fallback = std::move(formula);
  return keys;
}

// Adds a table and the tables in it.
void add(std::vector<RecipeTable>& tables, const std::string& path, std::string_view summary,
         const FieldTable& declared) {
  tables.push_back({.path = path,
                    .summary = std::string(summary),
                    .is_list = path == "algorithms" || path == "claims",
                    .keys = keys_of(declared.fields)});
  if (declared.kinds != nullptr)
    for (const Kind& kind : declared.kinds())
      tables.back().kinds.push_back(
          {.name = std::string(kind.name),
           .summary = std::string(kind.summary),
           .is_default = kind.name == declared.fallback,
           .keys = path == "algorithms" ? keys_of(kind) : keys_of(kind.fields)});
  for (const Field& field : ranked(declared.fields)) {
    if (field.table == nullptr) continue;
    const std::size_t at = tables.size();
    add(tables, fmt::format("{}.{}", path, field.name), field.help, *field.table);
    tables[at].is_list = field.type == FieldType::sections;
  }
}

using Settings = std::map<std::string, nlohmann::json>;

/// A default as the reference prints it: TOML that is JSON as well, or a dash for none.
bool is_fallback(const std::string& fallback, const nlohmann::json& value) {
  const nlohmann::json parsed = nlohmann::json::parse(fallback, nullptr, false);
  return parsed.is_discarded() ? value.is_string() && value == fallback : parsed == value;
}

void drop_defaults(Settings& changed, const std::string& path, const std::vector<RecipeKey>& keys) {
  for (const RecipeKey& key : keys) {
    const auto found = changed.find(path.empty() ? key.name : path + "." + key.name);
    if (found != changed.end() && is_fallback(key.fallback, found->second)) changed.erase(found);
  }
}

}  // namespace

const FieldTable& top_keys() { return kTableOf<kTop>; }

std::vector<RecipeTable> recipe_reference() {
  std::vector<RecipeTable> tables;
  add(tables, "", "the experiment", kTableOf<kTop>);
  // [sweep], [search] and [comparison] stand between what is compared and how it is executed.
  for (bool above_0 = false; const Field& section : ranked(run_table().fields)) {
    if (section.rank > 0 && !std::exchange(above_0, true)) {
      add(tables, "sweep",
          "what every algorithm is run with: all combinations of the values of other keys",
          sweep_keys());
      add(tables, "sweep.KEY",
          "numbers between two ends, in the place of a list: of [sweep], [[sweep.zip]] and "
          "[search]",
          range_keys());
      add(tables, "search", "what each algorithm chooses before it is compared", search_keys());
      add(tables, "comparison", "how the runs are compared; no run depends on it, and no id",
          comparison_keys());
      add(tables, "claims", "what the runs are to show, fixed before them; no run depends on it",
          claim_keys());
    }
    add(tables, section.name == "algorithm" ? "algorithms" : std::string(section.name),
        section.help, *section.table);
  }
  return tables;
}

Settings changed_from_default(const Settings& settings) {
  Settings changed = settings;
  std::erase_if(changed, [](const auto& setting) { return setting.second.empty(); });
  for (const RecipeTable& table : recipe_reference()) {
    // A run has one algorithm; a recipe lists them.
    const std::string path = table.path == "algorithms" ? "algorithm" : table.path;
    drop_defaults(changed, path, table.keys);
    const auto chosen = settings.find(path + ".kind");
    if (chosen == settings.end()) continue;
    const auto kind =
        std::ranges::find(table.kinds, chosen->second.get<std::string>(), &RecipeKind::name);
    if (kind == table.kinds.end()) continue;
    drop_defaults(changed, path, kind->keys);
    if (kind->is_default) changed.erase(path + ".kind");
  }
  return changed;
}

}  // namespace acid

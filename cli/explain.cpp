// acid explain: the keys of a recipe, from the declarations that check it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>

#include "cli/terminal/commands.hpp"
#include "engine/base/names.hpp"
#include "recipes/reference.hpp"
#include "reports/text_table.hpp"

namespace acid {
namespace {

using nlohmann::json;

constexpr int kLineWidth = 100;

struct ExplainOptions {
  std::string key;
  Format format;
};

// "[[algorithms]]", "[optimizer]": the line that begins the table in a recipe.
std::string heading_of(const RecipeTable& table) {
  if (table.path.empty()) return "at the top";
  return fmt::format(fmt::runtime(table.is_list ? "[[{}]]" : "[{}]"), table.path);
}

std::string default_of(const RecipeKey& key) {
  return key.fallback.empty() ? "required" : key.fallback;
}

std::string full_name(const RecipeTable& table, const RecipeKey& key) {
  return table.path.empty() ? key.name : fmt::format("{}.{}", table.path, key.name);
}

/// A key, its table, and the kind to which it belongs, if it belongs to one alone.
struct Found {
  const RecipeTable* table;
  const RecipeKind* kind;
  const RecipeKey* key;
};

std::vector<Found> all_keys(const std::vector<RecipeTable>& tables) {
  std::vector<Found> all;
  for (const RecipeTable& table : tables) {
    for (const RecipeKey& key : table.keys) all.push_back({&table, nullptr, &key});
    for (const RecipeKind& kind : table.kinds)
      for (const RecipeKey& key : kind.keys) all.push_back({&table, &kind, &key});
  }
  return all;
}

// Whether `asked` is the end of a dotted name: "warmup" and "schedule.warmup" are ends of
// "optimizer.schedule.warmup".
bool ends_so(std::string_view full, std::string_view asked) {
  return full == asked || (full.size() > asked.size() && full.ends_with(asked) &&
                           full[full.size() - asked.size() - 1] == '.');
}

std::string line_of(const RecipeKey& key) {
  constexpr int kName = 20;
  std::string text = fmt::format("  {}{}\n", padded(key.name, kName - 2),
                                 wrapped(key.meaning, kLineWidth - kName, std::string(kName, ' ')));
  return text + fmt::format("{:{}}{}\n", "", kName,
                            wrapped(fmt::format("{}; default: {}", key.type, default_of(key)),
                                    kLineWidth - kName, std::string(kName, ' ')));
}

std::string text_of(const RecipeTable& table, const std::vector<RecipeTable>& tables) {
  std::string text = fmt::format("{}: {}\n", heading_of(table), table.summary);
  if (!table.keys.empty()) text += "\n";
  for (const RecipeKey& key : table.keys) text += line_of(key);
  for (const RecipeKind& kind : table.kinds) {
    text += fmt::format("\nkind = \"{}\"{}{}{}\n", kind.name, kind.is_default ? " (default)" : "",
                        kind.summary.empty() ? "" : ": ", kind.summary);
    for (const RecipeKey& key : kind.keys) text += line_of(key);
  }
  std::vector<std::string> below;
  for (const RecipeTable& other : tables)
    if (!table.path.empty() && other.path.starts_with(table.path + "."))
      below.push_back(other.path);
  if (!below.empty()) text += fmt::format("\nTables in it: {}\n", fmt::join(below, ", "));
  return text;
}

/// Places at which the same key has the same declaration.
using Alike = std::vector<Found>;

bool are_alike(const RecipeKey& a, const RecipeKey& b) {
  return std::tie(a.name, a.type, a.fallback, a.meaning, a.example) ==
         std::tie(b.name, b.type, b.fallback, b.meaning, b.example);
}

// "optimizer.weight_decay (kind = "sgd", "adamw")", a line for each table.
std::string places_of(const Alike& alike) {
  std::vector<std::pair<std::string, std::vector<std::string>>> places;
  for (const Found& found : alike) {
    const std::string name = full_name(*found.table, *found.key);
    if (places.empty() || places.back().first != name) places.push_back({name, {}});
    if (found.kind != nullptr)
      places.back().second.push_back(fmt::format("\"{}\"", found.kind->name));
  }
  std::string text;
  for (const auto& [name, kinds] : places) {
    const std::string of_kinds =
        kinds.empty() ? "" : fmt::format(" (kind = {})", fmt::join(kinds, ", "));
    text += wrapped(name + of_kinds, kLineWidth, "    ") + "\n";
  }
  return text;
}

std::string text_of(const Alike& alike) {
  const RecipeKey& key = *alike.front().key;
  std::string text = places_of(alike);
  text +=
      fmt::format("  meaning  {}\n", wrapped(key.meaning, kLineWidth - 11, std::string(11, ' ')));
  text += fmt::format("  type     {}\n  default  {}\n  example  {}\n", key.type, default_of(key),
                      key.example);
  return text;
}

std::string overview(const std::vector<RecipeTable>& tables) {
  constexpr int kName = 40;
  std::string text = "What a recipe can say, table by table:\n\n";
  for (const RecipeTable& table : tables)
    text += fmt::format("  {}{}\n", padded(heading_of(table), kName - 2),
                        wrapped(table.summary, kLineWidth - kName, std::string(kName, ' ')));
  return text +
         "\n'acid explain optimizer' explains a table, 'acid explain learning_rate' a key, 'acid "
         "new' writes a\nrecipe to start from. docs/RECIPE.md has all of it on one page.\n";
}

std::string explanation(const std::string& asked, const std::vector<RecipeTable>& tables) {
  std::string text;
  const std::string kinds_of = asked.ends_with(".kind") ? asked.substr(0, asked.size() - 5) : "";
  for (const RecipeTable& table : tables)
    if (!table.path.empty() &&
        (ends_so(table.path, asked) ||
         (!kinds_of.empty() && !table.kinds.empty() && ends_so(table.path, kinds_of))))
      text += (text.empty() ? "" : "\n") + text_of(table, tables);
  std::vector<std::string> known;
  std::vector<Alike> all;
  for (const Found& found : all_keys(tables)) {
    known.push_back(full_name(*found.table, *found.key));
    known.push_back(found.key->name);
    if (!ends_so(known[known.size() - 2], asked)) continue;
    const auto same = std::ranges::find_if(
        all, [&](const Alike& alike) { return are_alike(*alike.front().key, *found.key); });
    if (same == all.end())
      all.push_back({found});
    else
      same->push_back(found);
  }
  for (const Alike& alike : all) text += (text.empty() ? "" : "\n") + text_of(alike);
  for (const RecipeTable& table : tables)
    for (const RecipeKind& kind : table.kinds)
      if (kind.name == asked) {
        RecipeTable only = table;
        only.keys.clear();
        only.kinds = {kind};
        text += (text.empty() ? "" : "\n") + text_of(only, {});
      }
  if (!text.empty()) return text;
  for (const RecipeTable& table : tables)
    if (!table.path.empty()) known.push_back(table.path);
  const auto nearest = nearest_name(asked, known);
  throw UsageError(fmt::format(
      "a recipe has no key or table '{}'; {}", asked,
      nearest ? fmt::format("did you mean '{}'?", *nearest) : "'acid explain' lists the tables"));
}

std::string rows_of(const std::vector<RecipeKey>& keys) {
  std::string text = "| key | type | default | meaning | example |\n|---|---|---|---|---|\n";
  for (const RecipeKey& key : keys)
    text +=
        fmt::format("| `{}` | {} | {} | {} | `{}` |\n", key.name, markdown_cell(key.type),
                    key.fallback.empty() || key.fallback == "–" ? default_of(key)
                                                                : fmt::format("`{}`", key.fallback),
                    markdown_cell(key.meaning), key.example);
  return text;
}

std::string markdown_of(const std::vector<RecipeTable>& tables) {
  std::string text;
  for (const RecipeTable& table : tables) {
    text +=
        table.path.empty() ? "## At the top\n\n" : fmt::format("\n## `{}`\n\n", heading_of(table));
    text += fmt::format("{}{}.\n", static_cast<char>(std::toupper(table.summary[0])),
                        table.summary.substr(1));
    if (!table.keys.empty()) text += "\n" + rows_of(table.keys);
    for (const RecipeKind& kind : table.kinds) {
      text += fmt::format("\n**`kind = \"{}\"`**{}{}{}\n", kind.name,
                          kind.is_default ? " (default)" : "", kind.summary.empty() ? "" : ": ",
                          kind.summary);
      if (!kind.keys.empty()) text += "\n" + rows_of(kind.keys);
    }
  }
  return text;
}

json to_json(const RecipeKey& key) {
  return {{"name", key.name},
          {"type", key.type},
          {"required", key.fallback.empty()},
          {"default", key.fallback.empty() || key.fallback == "–" ? json() : json(key.fallback)},
          {"meaning", key.meaning},
          {"example", key.example}};
}

json to_json(const std::vector<RecipeKey>& keys) {
  json list = json::array();
  for (const RecipeKey& key : keys) list.push_back(to_json(key));
  return list;
}

json to_json(const std::vector<RecipeTable>& tables) {
  json list = json::array();
  for (const RecipeTable& table : tables) {
    json kinds = json::array();
    for (const RecipeKind& kind : table.kinds)
      kinds.push_back({{"kind", kind.name},
                       {"summary", kind.summary},
                       {"is_default", kind.is_default},
                       {"keys", to_json(kind.keys)}});
    list.push_back({{"table", table.path},
                    {"summary", table.summary},
                    {"keys", to_json(table.keys)},
                    {"kinds", kinds}});
  }
  return list;
}

Exit explain(const Session&, const ExplainOptions& options) {
  const std::vector<RecipeTable> tables = recipe_reference();
  if (!options.key.empty() && (options.format.json || options.format.markdown))
    throw UsageError("--json and --markdown are of the whole reference: leave out the key");
  if (options.format.json)
    print_json({{"tables", to_json(tables)}});
  else if (options.format.markdown)
    print_data(markdown_of(tables));
  else
    print_data(options.key.empty() ? overview(tables) : explanation(options.key, tables));
  return Exit::ok;
}

}  // namespace

void add_explain_command(CLI::App& app, Session& session) {
  auto [command, options] =
      add_command<ExplainOptions>(app, session, "explain", "Explain the keys of recipes", explain);
  add_argument(command, "KEY", options.key,
               "A key, a table or a kind: learning_rate, optimizer, adamw");
  CLI::Option* const json = command.add_flag("--json", options.format.json, "Print JSON");
  command.add_flag("--markdown", options.format.markdown, "Print the tables of docs/RECIPE.md")
      ->excludes(json);
}

}  // namespace acid

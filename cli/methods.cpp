#include "recipes/methods.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "cli/method_notation.hpp"
#include "cli/terminal/commands.hpp"
#include "cli/terminal/table.hpp"
#include "engine/base/error.hpp"
#include "engine/base/names.hpp"
#include "engine/language/listing_facts.hpp"
#include "engine/methods/listed.hpp"
#include "reports/text_table.hpp"

namespace acid {
namespace {

using nlohmann::json;

struct MethodsOptions {
  std::string name, recipe;
  bool toml = false;
  Format format;
};

// The recipe's methods if a recipe is named, else the catalog's.
std::vector<const AlgorithmEntry*> entries_of(const std::string& recipe) {
  if (!recipe.empty()) return methods_of_recipe(recipe);
  std::vector<const AlgorithmEntry*> entries;
  for (const AlgorithmEntry& entry : algorithm_catalog()) entries.push_back(&entry);
  return entries;
}

const AlgorithmEntry& entry_of_name(const std::string& name, const std::string& recipe) {
  std::vector<std::string> known;
  for (const AlgorithmEntry* const entry : entries_of(recipe)) {
    if (entry->name == name) return *entry;
    known.emplace_back(entry->name);
  }
  if (const std::string_view written = written_for(name); !written.empty())
    throw UsageError(fmt::format("'{}' is no method of its own: write {}", name, written));
  throw UsageError(fmt::format("there is no method '{}'; {}", name, did_you_mean(name, known)));
}

const char* peers_name(Peers peers) {
  switch (peers) {
    case Peers::neighbours:
      return "neighbours";
    case Peers::one:
      return "one";
    case Peers::all:
      return "all";
    case Peers::partner:
      return "pairs";
    case Peers::server:
      return "server";
  }
  return "";
}

// Which of a recipe's [optimizer] the method's steps accept.
const char* optimizers_name(Optimizers optimizers) {
  switch (optimizers) {
    case Optimizers::any:
      return "any";
    case Optimizers::sgd:
      return "learning rate, momentum and weight decay, in a step of its own";
    case Optimizers::own:
      return "learning rate and weight decay, in a step of its own";
    case Optimizers::none:
      return "learning rate; workers take no step";
  }
  return "";
}

json parameters_of(const AlgorithmEntry& entry) {
  json list = json::array();
  for (const Field& field : entry.fields)
    list.push_back(
        {{"name", field.name}, {"default", json::parse(field.fallback)}, {"help", field.help}});
  return list;
}

Method made_of(const AlgorithmEntry& entry) {
  return entry.make(with_fallbacks(entry.fields, json::object()), nullptr);
}

json document_of_method(const AlgorithmEntry& entry) {
  const Method method = made_of(entry);
  json document{{"name", entry.name},
                {"label", entry.label},
                {"summary", entry.summary},
                {"source", entry.source},
                {"peers", peers_name(entry.peers)},
                {"optimizer", optimizers_name(entry.optimizers)},
                {"parameters", parameters_of(entry)},
                {"vectors_per_message", method.message().vectors},
                {"numbers_per_message", method.message().scalars},
                {"listing", canonical(*entry.listing)},
                {"recursion", entry.listing->about.recursion},
                {"differs", entry.listing->about.differs}};
  return document;
}

std::string words(const std::vector<std::string>& list) {
  return list.empty() ? "nothing" : fmt::format("{}", fmt::join(list, ", "));
}

std::string counted_parts(const Message& message) {
  const std::string text = counted(message.vectors, "vector");
  return message.scalars == 0 ? text
                              : fmt::format("{} and {}", text, counted(message.scalars, "number"));
}

std::string counted_messages(const Method& method, const json& codec) {
  std::string text = counted_parts(method.message());
  if (!codec.is_null()) text += fmt::format(", packed by {},", codec.at("kind").get<std::string>());
  switch (method.peers) {
    case Peers::neighbours:
      return text + " to each neighbour";
    case Peers::one:
      return text + " to one neighbour, and as much back";
    case Peers::all:
      return text + (codec.is_null() ? " in an all-reduce, which sends 2(n-1)/n of it per worker"
                                     : " to each other worker");
    case Peers::partner:
      return text + " to the partner";
    case Peers::server:
      text = fmt::format(
          "{} to {}, which answers {}", text,
          method.hubs ? fmt::format("one of {} hubs", method.hubs->count) : "the server",
          counted_parts(method.server->floats->message()));
      if (method.hubs)
        text +=
            fmt::format("; every {} of these a hub sends {} to the server above, which answers {}",
                        method.hubs->every, counted_parts(method.hubs->visit.floats->message()),
                        counted_parts(method.hubs->above.floats->message()));
      return text;
  }
  return text;
}

// How exchanges of the method differ from each other.
std::string turns_of(const Listing& listing) {
  const json form = canonical(listing);
  std::string text;
  if (!listing.turns.empty())
    text +=
        fmt::format("  in turn      {}\n", words(form.at("peers").get<std::vector<std::string>>()));
  if (listing.fragments)
    text += fmt::format("  fragments    {}: an exchange is about one part of the vectors\n",
                        form.at("fragments").get<std::string>());
  for (std::size_t i = 0; i < listing.send.size(); ++i)
    if (listing.send[i].condition)
      text += fmt::format("  message {}    sent if {}\n", i, print(*listing.send[i].condition));
  return text;
}

// What an exchange does to the workers' vectors; "" where nothing could be measured.
std::string measured_exchange(const ExchangeFacts& facts, bool has_codec) {
  if (!facts.is_finite) return "";
  const bool moves = facts.moves_mean_on.size() == facts.graphs;
  const bool differs = !moves && !facts.moves_mean_on.empty();
  return fmt::format("of random workers{}{}: an exchange {} linear, and {} the mean of x{}",
                     facts.graphs > 1 ? fmt::format(" on {} graphs", facts.graphs) : "",
                     has_codec ? ", without the codec" : "", facts.is_linear ? "is" : "is not",
                     moves ? "moves" : "conserves",
                     differs ? " except on " + one_of(facts.moves_mean_on) : "");
}

// A default as a formula of other parameters, or as a value.
std::string shown_default(const AlgorithmEntry& entry, const Field& field) {
  const std::string formula = default_formula(entry, field.name);
  return formula.empty() ? std::string(field.fallback) : formula;
}

// A line for each symbol.
std::string text_of_notation(const std::vector<std::string>& symbols) {
  std::string text;
  for (const std::string& said : symbols)
    text += fmt::format("  {:<13}{}\n", text.empty() ? "notation" : "", said);
  return text;
}

std::string text_of_method(const AlgorithmEntry& entry) {
  const Method method = made_of(entry);
  const Listing& listing = *entry.listing;
  std::string text =
      fmt::format("{}: {}\n\n  source       {}\n", entry.label, entry.summary, entry.source);
  const auto line = [&](const char* what, const std::string& said) {
    constexpr int kWidth = 100, kAt = 15;
    if (!said.empty())
      text +=
          "  " + wrapped(fmt::format("{:<13}{}", what, said), kWidth, std::string(kAt, ' ')) + "\n";
  };
  line("recursion", listing.about.recursion);
  text += text_of_notation(notation_of(entry, listing));
  line("differs", listing.about.differs);
  if (method.has_meetings()) {
    text += fmt::format("  when         {} exchanges of drawn pairs per worker and gradient\n",
                        method.rate);
  } else {
    const std::string overlap = overlap_of(method.round);
    text += fmt::format("  when         {}\n", written_round(listing.round));
    text += fmt::format("  meanwhile    {}\n", overlap.empty()
                                                   ? "nothing is computed while messages travel"
                                                   : overlap + " computed while messages travel");
  }
  text += fmt::format("  sends        {}\n", counted_messages(method, listing.codec));
  text += fmt::format("  optimizer    {}\n", optimizers_name(entry.optimizers));
  text += turns_of(listing);
  for (const PartUse& use : uses_of(listing))
    text += fmt::format("  {:<12} reads {}; assigns {}\n", use.part, words(use.reads),
                        words(use.assigns));
  if (!method.reduces_gradients && !method.has_server())
    line("measured",
         measured_exchange(measure_exchange(listing, method.rules), !listing.codec.is_null()));
  if (!entry.fields.empty()) {
    constexpr std::size_t kNameWidth = 20, kDefaultWidth = 14;
    constexpr int kHelpWidth = 100;
    text += "\nparameters of the algorithm, with their defaults\n";
    for (const Field& field : entry.fields)
      text += "  " +
              wrapped(fmt::format("{}{}{}", padded(field.name, kNameWidth),
                                  padded(shown_default(entry, field), kDefaultWidth), field.help),
                      kHelpWidth, std::string(2 + kNameWidth + kDefaultWidth, ' ')) +
              "\n";
  }
  if (!listing_text(entry.name).empty()) text += fmt::format("\n{}", listing_text(entry.name));
  return text;
}

// A table that can be pasted into a recipe.
std::string toml_of_method(const AlgorithmEntry& entry) {
  const std::string_view text = listing_text(entry.name);
  if (text.empty())
    throw UsageError(fmt::format("the listing of {} is the recipe's own", entry.name));
  std::string pasted = fmt::format("[[methods]]\n{}", text);
  constexpr std::string_view kTable = "\n[";  // a table of the listing becomes one of the method
  for (std::size_t at = 0; (at = pasted.find(kTable, at)) != std::string::npos;)
    pasted.insert(at += kTable.size(), "methods.");
  return pasted;
}

std::string list_of_methods(const std::string& recipe) {
  constexpr int kWidth = 100;
  std::size_t longest = 0;
  for (const AlgorithmEntry* const entry : entries_of(recipe))
    longest = std::max(longest, entry->name.size());
  const std::size_t column = longest + 2;
  std::string text;
  for (const AlgorithmEntry* const entry : entries_of(recipe))
    text +=
        fmt::format("{}\n", wrapped(fmt::format("{:<{}}{}", entry->name, column, entry->summary),
                                    kWidth, std::string(column, ' ')));
  return text +
         "\nacid methods NAME explains one; --toml prints its listing, to start your own from.\n";
}

Exit show_methods(const Session&, const MethodsOptions& options) {
  if (options.name.empty()) {
    if (options.toml) throw UsageError("--toml needs the name of a method");
    if (!options.format.json) {
      print_data(list_of_methods(options.recipe));
      return Exit::ok;
    }
    json listed = json::array();
    for (const AlgorithmEntry* const entry : entries_of(options.recipe))
      listed.push_back(document_of_method(*entry));
    print_json({{"methods", listed}});
    return Exit::ok;
  }
  const AlgorithmEntry& entry = entry_of_name(options.name, options.recipe);
  if (options.toml)
    print_data(toml_of_method(entry));
  else if (options.format.json)
    print_json(document_of_method(entry));
  else
    print_data(text_of_method(entry));
  return Exit::ok;
}

}  // namespace

void add_methods_command(CLI::App& app, Session& session) {
  auto [command, options] = add_command<MethodsOptions>(
      app, session, "methods", "List all methods, or explain one and print it", show_methods);
  add_argument(command, "NAME", options.name, "A method; without it all are listed");
  command.add_flag("--toml", options.toml,
                   "Print its listing as [[methods]] of a recipe, to start your own from");
  add_value(command, "--recipe", options.recipe, "FILE",
            "Use the methods that this recipe lists, instead of acid's own");
  add_json_option(command, options.format);
}

}  // namespace acid

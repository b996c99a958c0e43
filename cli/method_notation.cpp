#include "cli/method_notation.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <set>

#include "engine/methods/common_fields.hpp"

namespace acid {
namespace {

struct Symbol {
  std::string_view name, meaning;
};
// The symbols in the order in which they are explained.
constexpr std::array kSymbols{
    Symbol{"x", "a worker's parameters"},
    Symbol{"xt", "the copy of x beside it"},
    Symbol{"phi", "the model that the exchange before made"},
    Symbol{"W", "the mixing matrix: W x is the average with the neighbours'"},
    Symbol{"w_ij", "its entry for workers i and j"},
    Symbol{"P", "the mixing matrix, whose columns sum to 1"},
    Symbol{"I", "the identity, I x = x"},
    Symbol{"mean", "the average of all workers'"},
    Symbol{"mean_pair", "the average of both of a pair"},
    Symbol{"lr", "the learning rate"},
    Symbol{"g", "the gradient"},
    Symbol{"u", "the step that the recipe's optimizer makes of the gradient"},
    Symbol{"H", "gradients of each worker between two exchanges"},
    Symbol{"N", "the number of workers"},
    Symbol{"C", "what a message keeps of a vector"},
};

bool is_of_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// The symbols in a formula, such as "x+", "w_ij", "lr-": a name, and the sign that follows it
/// directly.
std::set<std::string> symbols_in(std::string_view text) {
  std::set<std::string> symbols;
  for (std::size_t at = 0; at < text.size();) {
    const auto begin = at;
    while (at < text.size() && is_of_name(text[at])) ++at;
    if (at == begin) {
      ++at;
      continue;
    }
    const bool ends = at + 1 >= text.size() || !is_of_name(text[at + 1]);
    if (at < text.size() && ends && (text[at] == '+' || text[at] == '-')) ++at;
    symbols.emplace(text.substr(begin, at - begin));
  }
  return symbols;
}

}  // namespace

std::vector<std::string> notation_of(const AlgorithmEntry& entry, const Listing& listing) {
  std::set<std::string> names;
  std::string next, before;
  bool of_two = false;
  for (std::string symbol : symbols_in(listing.about.recursion)) {
    if (symbol.ends_with('+') && (next.empty() || symbol == "x+")) next = symbol;
    if (symbol.ends_with('-') && (before.empty() || symbol == "x-")) before = symbol;
    if (symbol.ends_with('+') || symbol.ends_with('-')) symbol.pop_back();
    if (symbol.ends_with("_i") || symbol.ends_with("_j")) {
      of_two = true;
      symbol.resize(symbol.size() - 2);
    }
    names.insert(symbol);
  }
  std::vector<std::string> said;
  for (const Symbol& symbol : kSymbols)
    if (names.contains(std::string(symbol.name)))
      said.push_back(fmt::format("{}: {}", symbol.name, symbol.meaning));
  if (!next.empty()) said.push_back(next + ": the next one");
  if (!before.empty()) said.push_back(before + ": the one before");
  if (of_two) said.emplace_back("_i, _j: of workers i and j");
  std::vector<std::string> kept, parameters;
  for (const Kept& one : listing.vectors)
    if (one.name != "x" && one.name != "xt" && one.name != "phi" && names.contains(one.name))
      kept.push_back(one.name);
  for (const Field& field : entry.fields)
    if (field.name != kExchangeField.name && names.contains(std::string(field.name)))
      parameters.emplace_back(field.name);
  if (!kept.empty())
    said.push_back(fmt::format("{}: what a worker keeps beside x", fmt::join(kept, ", ")));
  if (!parameters.empty())
    said.push_back(fmt::format("{}: {} below", fmt::join(parameters, ", "),
                               parameters.size() == 1 ? "a parameter" : "parameters"));
  return said;
}

std::string written_round(std::string_view spaced) {
  constexpr std::array<std::string_view, 4> kLegs{"gradient", "step", "say", "hear"};
  std::string text, word;  // the name before the sign
  for (std::size_t at = 0; at < spaced.size(); ++at) {
    const char c = spaced[at];
    const bool is_call = c == '(' && !word.empty() && std::ranges::find(kLegs, word) == kLegs.end();
    if ((c == ')' || c == ',' || is_call) && text.ends_with(' ')) text.pop_back();
    if (c == ' ' && text.ends_with('(')) continue;
    text += c;
    if (is_of_name(c))
      word = at > 0 && is_of_name(spaced[at - 1]) ? word + c : std::string(1, c);
    else if (c != ' ')
      word.clear();
  }
  return text;
}

}  // namespace acid

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "engine/base/names.hpp"
#include "engine/language/listing_check.hpp"

namespace acid {
namespace {

constexpr std::array<std::string_view, 7> kOtherNames = {"x",    "g",  "u",    "at",
                                                         "late", "if", "speed"};
// Vectors that every worker keeps with any method.
constexpr std::array<std::string_view, 5> kWorkersVectors = {"snapshot", "moment1", "moment2",
                                                             "buffers", "offer"};
bool is_one_of(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

}  // namespace

bool is_graph_number(std::string_view name) { return name == "chi1" || name == "chi2"; }

bool Listing::keeps(std::string_view which) const {
  const auto is_it = [&](const Kept& one) { return one.name == which; };
  return which == "x" || std::ranges::any_of(vectors, is_it) || std::ranges::any_of(numbers, is_it);
}

bool is_reserved(std::string_view name) {
  return is_one_of(kEventNumbers, name) || is_one_of(kOtherNames, name) || is_graph_number(name) ||
         is_one_of(kWorkersVectors, name);
}

bool is_name(const std::string& text) {
  return !text.empty() && text.size() <= kLongestName && text != "if" &&
         std::isalpha(static_cast<unsigned char>(text[0])) != 0 &&
         std::ranges::all_of(text,
                             [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
}

std::string spaced(std::string_view round) {
  std::string text;
  bool in_word = false;
  for (const char c : round) {
    const bool of_word = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
    if (std::isspace(static_cast<unsigned char>(c)) != 0) {
      in_word = false;
      continue;
    }
    const bool of_sign = c == '=' && !text.empty() &&
                         (text.back() == '<' || text.back() == '>' || text.back() == '=');
    if (!text.empty() && !(in_word && of_word) && !of_sign) text += ' ';
    text += c;
    in_word = of_word;
  }
  return text;
}

void add_below(const std::string& path, const std::vector<Finding>& found,
               std::vector<Finding>& findings) {
  for (Finding finding : found) {
    finding.path = finding.path.empty() ? path : fmt::format("{}.{}", path, finding.path);
    findings.push_back(std::move(finding));
  }
}

std::array<ListedPart, 3> listed_parts(const Listing& listing) {
  return {{{"step", &listing.step}, {"say", &listing.say}, {"hear", &listing.hear}}};
}

bool is_of_graph(const Expression& need) {
  return any_of(need, [](const Expression& one) { return one.name == "lambda_min"; });
}

ListedNames listed_names(const Listing& listing) {
  ListedNames names{{"x", true}};
  for (const std::string_view name : kEventNumbers) names.emplace(name, false);
  for (const Kept& one : listing.vectors) names[one.name] = true;
  for (const Kept& one : listing.numbers) names[one.name] = false;
  for (const ListedParameter& one : listing.parameters) names[one.name] = false;
  return names;
}

bool is_vector(const Expression& value, const ListedNames& names, const Listing& listing) {
  if (value.operation == Operation::name) return names.find(value.name)->second;
  if (is_heard(value.operation)) return listing.heard_by(value.operation)[value.index];
  if (is_reduction(value.operation)) return false;
  return std::ranges::any_of(value.arguments, [&](const Expression& argument) {
    return is_vector(argument, names, listing);
  });
}

}  // namespace acid

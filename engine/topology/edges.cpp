#include <charconv>
#include <fstream>
#include <nlohmann/json.hpp>

#include "engine/base/error.hpp"
#include "engine/base/names.hpp"
#include "engine/base/utf8.hpp"
#include "engine/topology/catalog.hpp"

namespace acid {
namespace {

constexpr Field kEdgesFields[] = {
    {"edges", FieldType::edges, "",
     "[[i, j], [i, j, weight], …], or a file of lines \"i j [weight]\" (# starts a comment); the "
     "weights of an edge that is listed twice, also as j i, add up"},
};

/// Removes the next word from a line and returns it; empty at the end or at a comment.
std::string_view take_word(std::string_view& line) {
  constexpr std::string_view kBlank = " \t\r,";
  const auto begin = std::min(line.find_first_not_of(kBlank), line.size());
  line.remove_prefix(begin);
  if (line.starts_with('#')) line = {};
  const auto end = std::min(line.find_first_of(" \t\r,#"), line.size());
  const auto word = line.substr(0, end);
  line.remove_prefix(end);
  return word;
}

template <class Number>
bool parse(std::string_view word, Number& value) {
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  return error == std::errc() && end == word.data() + word.size();
}

std::vector<Edge> read_edges(const std::string& path) {
  std::ifstream file(path);
  if (!file) {
    throw UsageError(fmt::format("topology 'edges': cannot read '{}'; check the path", path));
  }
  std::vector<Edge> edges;
  int number = 0;
  for (std::string text; std::getline(file, text);) {
    ++number;
    std::string_view line = number == 1 ? without_byte_order_mark(text) : text;
    const auto first = take_word(line), second = take_word(line), third = take_word(line);
    if (first.empty()) continue;
    Edge edge;
    if (!parse(first, edge.i) || !parse(second, edge.j) ||
        (!third.empty() && !parse(third, edge.weight)) || !take_word(line).empty()) {
      throw UsageError(fmt::format(
          "{}:{}: '{}' is not an edge; expected two worker numbers and optionally a weight", path,
          number, clip(text, 80)));
    }
    edges.push_back(edge);
  }
  if (file.bad()) throw UsageError(fmt::format("topology 'edges': reading '{}' failed", path));
  return edges;
}

std::vector<Edge> listed_edges(const nlohmann::json& list) {
  const auto number = [](const nlohmann::json& value, auto& out) {
    if (std::is_integral_v<std::decay_t<decltype(out)>> && !value.is_number_integer()) return false;
    if (!value.is_number()) return false;
    value.get_to(out);
    return true;
  };
  std::vector<Edge> edges;
  for (const auto& item : list) {
    Edge edge;
    std::int64_t i = 0, j = 0;
    const bool sized = item.is_array() && (item.size() == 2 || item.size() == 3);
    if (!sized || !number(item[0], i) || !number(item[1], j) || !std::in_range<int>(i) ||
        !std::in_range<int>(j) || (item.size() == 3 && !number(item[2], edge.weight))) {
      throw UsageError(
          fmt::format("topology 'edges': entry {} is {}; expected [i, j] or [i, j, weight]",
                      edges.size(), item.dump()));
    }
    edge.i = static_cast<int>(i);
    edge.j = static_cast<int>(j);
    edges.push_back(edge);
  }
  return edges;
}

Topology make_edges(int workers, const nlohmann::json& options) {
  const auto& given = options.at("edges");
  if (given.is_string()) return {"edges", workers, read_edges(given.get<std::string>())};
  if (given.is_array()) return {"edges", workers, listed_edges(given)};
  throw UsageError(
      fmt::format("topology 'edges': edges = {}; expected a list of [i, j] or the path of a file",
                  given.dump()));
}

}  // namespace

const TopologyEntry edges_topology{"edges", "the edges given in the recipe or in a file",
                                   kEdgesFields, &make_edges};

}  // namespace acid

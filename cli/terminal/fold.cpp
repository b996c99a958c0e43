#include "cli/terminal/fold.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "cli/terminal/session.hpp"
#include "engine/base/error.hpp"
#include "reports/text_table.hpp"

namespace acid {
namespace {

constexpr std::size_t kLinesOfNoTerminal = 40;
constexpr int kWidestList = 20;

std::optional<double> number_in(const std::string& text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  return rest == end && error == std::errc() ? std::optional(value) : std::nullopt;
}

}  // namespace

std::size_t lines_of_screen() {
  return isatty(STDOUT_FILENO) == 1 ? static_cast<std::size_t>(screen_size(STDOUT_FILENO).rows)
                                    : kLinesOfNoTerminal;
}

std::string together(const std::vector<std::string>& cells) {
  std::vector<std::string> different;
  for (const std::string& cell : cells)
    if (std::ranges::find(different, cell) == different.end()) different.push_back(cell);
  const std::string list = fmt::format("{}", fmt::join(different, ", "));
  if (different.size() == 1 || terminal_columns(list) <= kWidestList) return list;
  std::vector<std::pair<double, std::string>> numbers;
  for (const std::string& cell : different)
    if (const auto value = number_in(cell)) numbers.emplace_back(*value, cell);
  if (numbers.size() < different.size()) return fmt::format("{} values", different.size());
  const auto [least, most] = std::ranges::minmax(numbers);
  return fmt::format("{} … {}", least.second, most.second);
}

std::vector<std::pair<RunState, int>> count_states(const std::vector<RunState>& states) {
  std::vector<std::pair<RunState, int>> counts;
  for (const RunState state : {RunState::finished, RunState::diverged, RunState::failed,
                               RunState::running, RunState::interrupted, RunState::planned})
    if (const auto count = std::ranges::count(states, state); count > 0)
      counts.emplace_back(state, static_cast<int>(count));
  return counts;
}

std::string counted_states(const std::vector<RunState>& states) {
  std::vector<std::string> words;
  for (const auto& [state, count] : count_states(states))
    words.push_back(
        fmt::format("{} {}", count, state == RunState::planned ? "to do" : state_name(state)));
  return fmt::format("{}", fmt::join(words, ", "));
}

Table folded(const Table& table, std::span<const std::string> keys,
             const std::map<std::string, Merge>& merges) {
  ACID_ASSERT(keys.size() == table.rows.size(), "{} keys of {} rows", keys.size(),
              table.rows.size());
  std::vector<std::vector<std::size_t>> rows_of;
  std::map<std::string, std::size_t> place;
  for (std::size_t row = 0; row < keys.size(); ++row) {
    const auto [known, is_new] = place.emplace(keys[row], rows_of.size());
    if (is_new) rows_of.emplace_back();
    rows_of[known->second].push_back(row);
  }
  Table result{table.columns, {}};
  for (const std::vector<std::size_t>& rows : rows_of) {
    result.rows.emplace_back();
    for (std::size_t c = 0; c < table.columns.size(); ++c) {
      if (const auto merge = merges.find(table.columns[c].title); merge != merges.end()) {
        result.rows.back().push_back(merge->second(rows));
        continue;
      }
      std::vector<std::string> cells;
      for (const std::size_t row : rows) cells.push_back(table.rows[row][c]);
      result.rows.back().push_back(together(cells));
    }
  }
  return result;
}

std::string narrowed_text(Table table, const std::vector<std::string>& leaving) {
  TextLines lines = lines_of_standard_output();
  if (!lines.cut) lines = {TextLines::kLongestProse, true};
  narrow(table, lines.columns, leaving);
  return to_text(table, lines);
}

}  // namespace acid

#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cli/terminal/table.hpp"
#include "store/queries.hpp"

namespace acid {

/// Lines that a reader sees at once: those of the terminal on standard output, else of a usual one.
std::size_t lines_of_screen();

/// Cells of several rows as one: the value that all share, a few values ("4, 8, 16"), the ends of
/// more numbers ("0.1 … 30"), else how many there are ("12 values").
std::string together(const std::vector<std::string>& cells);
/// The states that occur, each with how often, from what has ended to what has not begun.
std::vector<std::pair<RunState, int>> count_states(const std::vector<RunState>& states);
/// "8 finished, 1 running, 3 to do": the states that occur. A run that is planned is to do.
std::string counted_states(const std::vector<RunState>& states);

/// What a folded cell says, from the numbers of its rows.
using Merge = std::function<std::string(const std::vector<std::size_t>&)>;
/// One row for all rows with the same key, in the order in which keys first appear. The cells of a
/// column are put `together`, or merged as `merges` says for its title.
Table folded(const Table& table, std::span<const std::string> keys,
             const std::map<std::string, Merge>& merges);

/// The table as text: narrow() for a terminal, if standard output is one, else for 100 columns.
std::string narrowed_text(Table table, const std::vector<std::string>& leaving);

}  // namespace acid

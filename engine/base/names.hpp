#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace acid {

/// The known name that was probably meant: smallest edit distance (a swap of neighbours counts
/// one), at most a third of the word's length plus one. Ties go to the earlier name.
std::optional<std::string> nearest_name(std::string_view word, std::span<const std::string> known);

/// The names of a list's entries.
std::vector<std::string> names_of(const auto& entries) {
  std::vector<std::string> names;
  for (const auto& entry : entries) names.emplace_back(entry.name);
  return names;
}
/// The entry of that name; nullptr: there is none.
template <class Entry>
const Entry* find_named(std::span<const Entry> entries, std::string_view name) {
  const auto found = std::ranges::find(entries, name, &Entry::name);
  return found == entries.end() ? nullptr : &*found;
}

/// A hint for an unknown `word` where one of these was meant: "did you mean 'ring'?", or, when none
/// is near, "known: ring or star".
std::string did_you_mean(std::string_view word, std::span<const std::string> known);

/// "1 run", "3 runs": a count and its regular noun, which is given in the singular.
std::string counted(std::uint64_t count, std::string_view noun);

/// The text without such characters at its ends.
std::string_view trimmed(std::string_view text, std::string_view space = " ");

/// The parts of the text between the separators, of which it has one less; views of it.
std::vector<std::string_view> split_at(std::string_view text, char separator);

/// The text of a file without the byte order mark that some editors put before it.
std::string_view without_byte_order_mark(std::string_view text);

/// "a, b or c".
std::string one_of(std::span<const std::string> names);

/// The argument as one word of a POSIX shell's command line, quoted only if it must be.
std::string quoted_for_shell(std::string_view argument);
/// " --set a=1 --set b=2" for a shell: what follows the recipe on a command line.
std::string set_options(std::span<const std::string> overrides);

}  // namespace acid

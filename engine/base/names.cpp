#include "engine/base/names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace acid {
namespace {

// Damerau–Levenshtein distance (optimal string alignment).
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i)
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substitution = d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, substitution});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  return d[a.size()][b.size()];
}

}  // namespace

std::optional<std::string> nearest_name(std::string_view word, std::span<const std::string> known) {
  std::optional<std::string> best;
  // A short word may have fewer errors: 'gpu' is not taken for 'mpi'.
  const std::size_t most =
      std::max<std::size_t>(2, word.size() - std::min<std::size_t>(word.size(), 1));
  std::size_t best_distance = std::min(word.size() / 3 + 2, most);
  for (const std::string& name : known) {
    // The distance is at least the difference of the lengths: a very long word costs little time.
    const std::size_t longer = std::max(word.size(), name.size());
    if (longer - std::min(word.size(), name.size()) >= best_distance) continue;
    const std::size_t distance = edit_distance(word, name);
    if (distance < best_distance) {
      best_distance = distance;
      best = name;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view word, std::span<const std::string> known) {
  const auto nearest = nearest_name(word, known);
  return nearest ? fmt::format("did you mean '{}'?", *nearest)
                 : fmt::format("known: {}", one_of(known));
}

std::string counted(std::uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string one_of(std::span<const std::string> names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? " or " : ", ";
    text += names[i];
  }
  return text;
}

std::string_view trimmed(std::string_view text, std::string_view space) {
  const std::size_t begin = text.find_first_not_of(space);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(space) - begin + 1);
}

std::vector<std::string_view> split_at(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t end = text.find(separator); end != std::string_view::npos;
       end = text.find(separator)) {
    parts.push_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  parts.push_back(text);
  return parts;
}

std::string_view without_byte_order_mark(std::string_view text) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  return text.starts_with(kMark) ? text.substr(kMark.size()) : text;
}

std::string quoted_for_shell(std::string_view argument) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:,@+%";
  if (!argument.empty() && argument.find_first_not_of(kPlain) == std::string_view::npos)
    return std::string(argument);
  std::string quoted = "'";
  for (const char c : argument) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

std::string set_options(std::span<const std::string> overrides) {
  std::string options;
  for (const std::string& override_text : overrides)
    options += " --set " + quoted_for_shell(override_text);
  return options;
}

}  // namespace acid

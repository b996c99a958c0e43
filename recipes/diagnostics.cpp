#include "recipes/diagnostics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include "engine/base/names.hpp"
#include "engine/base/utf8.hpp"

namespace acid {
namespace {

std::vector<std::string> split_lines(std::string_view text) {
  std::vector<std::string> lines;
  for (std::string_view line : split_at(without_byte_order_mark(text), '\n')) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.emplace_back(line);
  }
  return lines;
}

std::string joined(const std::vector<Diagnostic>& diagnostics) {
  std::string text;
  for (const Diagnostic& diagnostic : diagnostics) text += render(diagnostic);
  if (!text.empty()) text.pop_back();
  return text;
}

// Bounds memory: each finding holds a copy of its line.
constexpr std::size_t kMostFindings = 200;

// The part of a long line around the caret, and how far the caret moved to the left.
struct Window {
  std::u32string shown;
  std::size_t caret = 0;
};
Window window_around(const std::u32string& line, std::size_t caret) {
  constexpr std::size_t kWidth = 96, kBefore = 40;
  caret = std::min(caret, line.size());
  if (line.size() <= kWidth) return {line, caret};
  const std::size_t begin = caret > kBefore ? caret - kBefore : 0;
  Window window{line.substr(begin, kWidth), caret - begin};
  if (begin > 0) window.shown.front() = U'…';
  if (begin + kWidth < line.size()) window.shown.back() = U'…';
  return window;
}

std::size_t columns(std::u32string_view characters) {
  std::size_t width = 0;
  for (const char32_t c : characters) width += static_cast<std::size_t>(display_width(c));
  return width;
}

}  // namespace

std::string render(const Diagnostic& diagnostic, const char* severity) {
  std::string place = to_utf8(printable(diagnostic.file));
  if (diagnostic.line > 0) place += fmt::format(":{}:{}", diagnostic.line, diagnostic.column);
  std::string text = fmt::format("{}: {}: {}\n", place, severity, diagnostic.message);
  if (!diagnostic.source_line.empty()) {
    const std::u32string line = printable(diagnostic.source_line);
    const auto column = static_cast<std::size_t>(std::max(1, diagnostic.column));
    const Window window = window_around(line, column - 1);
    const std::u32string_view shown = window.shown;
    const std::u32string_view marked =
        shown.substr(window.caret, static_cast<std::size_t>(std::max(1, diagnostic.length)));
    const std::string number = diagnostic.line > 0 ? std::to_string(diagnostic.line) : "";
    text += fmt::format("{:>5} | {}\n", number, to_utf8(shown));
    text += fmt::format("{:>5} | {:{}}^{:~<{}}\n", "", "", columns(shown.substr(0, window.caret)),
                        "", std::max<std::size_t>(1, columns(marked)) - 1);
  }
  if (!diagnostic.remedy.empty()) text += fmt::format("{:>5} = {}\n", "", diagnostic.remedy);
  return text;
}

RecipeError::RecipeError(std::vector<Diagnostic> diagnostics)
    : UsageError(joined(diagnostics)), diagnostics_(std::move(diagnostics)) {}

Diagnostics::Diagnostics(std::string file, std::string_view text,
                         std::vector<std::string> overrides)
    : file_(std::move(file)), lines_(split_lines(text)), overrides_(std::move(overrides)) {}

void Diagnostics::continues_with(std::string file, int after_line) {
  next_file_ = std::move(file);
  lines_of_first_ = after_line;
}

void Diagnostics::error(const Place& place, Problem problem) {
  ++reported_;
  add(errors_, place, std::move(problem));
}

void Diagnostics::warn(const Place& place, Problem problem) {
  add(warnings_, place, std::move(problem));
}

void Diagnostics::add(std::vector<Finding>& findings, const Place& place, Problem problem) {
  if (findings.size() == kMostFindings) return;
  const bool known = std::any_of(findings.begin(), findings.end(), [&](const Finding& finding) {
    return finding.place.line == place.line && finding.place.column == place.column &&
           finding.place.override_index == place.override_index &&
           finding.problem.message == problem.message;
  });
  if (!known) findings.push_back({place, std::move(problem)});
}

Diagnostics::Findings Diagnostics::withdraw(const Mark& mark) {
  const auto take = [](std::vector<Finding>& from, std::size_t first) {
    const auto begin = from.begin() + static_cast<std::ptrdiff_t>(first);
    std::vector<Finding> taken(std::make_move_iterator(begin), std::make_move_iterator(from.end()));
    from.erase(begin, from.end());
    return taken;
  };
  reported_ = mark.reported;
  return {take(errors_, mark.errors), take(warnings_, mark.warnings)};
}

void Diagnostics::adopt(const Diagnostics& other) {
  const std::vector<Diagnostic> found = other.errors();
  elsewhere_.insert(elsewhere_.end(), found.begin(), found.end());
  reported_ += static_cast<int>(found.size());
}

std::vector<Diagnostic> Diagnostics::errors() const {
  std::vector<Diagnostic> all = in_order(errors_);
  all.insert(all.end(), elsewhere_.begin(), elsewhere_.end());
  return all;
}
std::vector<Diagnostic> Diagnostics::warnings() const { return in_order(warnings_); }

std::vector<Diagnostic> Diagnostics::in_order(std::vector<Finding> findings) const {
  const auto rank = [](const Finding& finding) {
    const Place& place = finding.place;
    const int source = place.override_index >= 0 ? 1 : place.line == 0 ? 2 : 0;
    return std::tuple(source, place.override_index, place.line, place.column);
  };
  std::stable_sort(findings.begin(), findings.end(),
                   [&](const Finding& a, const Finding& b) { return rank(a) < rank(b); });
  std::vector<Diagnostic> located;
  for (const Finding& finding : findings) located.push_back(locate(finding));
  return located;
}

Diagnostic Diagnostics::locate(const Finding& finding) const {
  const Place& place = finding.place;
  Diagnostic diagnostic{.file = file_,
                        .line = place.line,
                        .column = place.column,
                        .length = place.length,
                        .source_line = {},
                        .message = finding.problem.message,
                        .remedy = finding.problem.remedy};
  if (place.override_index >= 0) {
    diagnostic.file = "--set";
    diagnostic.source_line = overrides_.at(static_cast<std::size_t>(place.override_index));
  } else if (place.line > 0 && static_cast<std::size_t>(place.line) <= lines_.size()) {
    diagnostic.source_line = lines_[static_cast<std::size_t>(place.line) - 1];
    if (!next_file_.empty() && place.line > lines_of_first_) {
      diagnostic.file = next_file_;
      diagnostic.line -= lines_of_first_;
    }
  }
  // Underlining stops at the end of the line, also for values that go on below it.
  const auto width = static_cast<int>(printable(diagnostic.source_line).size());
  diagnostic.length = std::max(1, std::min(diagnostic.length, width - diagnostic.column + 1));
  return diagnostic;
}

}  // namespace acid

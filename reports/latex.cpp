#include "reports/latex.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "reports/numbers.hpp"

namespace acid {
namespace {

using Replacement = std::pair<std::string_view, std::string_view>;
// "[" and "*" at the start of a row would be taken for an option of the row's end before it.
constexpr std::array kReplacements{Replacement{"±", "$\\pm$"},
                                   Replacement{"µ", "$\\mu$"},
                                   Replacement{"²", "$^2$"},
                                   Replacement{"·", "$\\cdot$"},
                                   Replacement{"–", "--"},
                                   Replacement{"−", "$-$"},
                                   Replacement{"≤", "$\\leq$"},
                                   Replacement{"×", "$\\times$"},
                                   Replacement{"--", "-{}-"},
                                   Replacement{"\\", "\\textbackslash{}"},
                                   Replacement{"~", "\\textasciitilde{}"},
                                   Replacement{"^", "\\textasciicircum{}"},
                                   Replacement{"<", "$<$"},
                                   Replacement{">", "$>$"},
                                   Replacement{"|", "$|$"},
                                   Replacement{"[", "{[}"},
                                   Replacement{"*", "{*}"},
                                   Replacement{"\n", " "},
                                   Replacement{"\r", " "}};

/// Removes `start` from the beginning of the text, if it is there.
bool take_start(std::string_view& text, std::string_view start) {
  if (!text.starts_with(start)) return false;
  text.remove_prefix(start.size());
  return true;
}

}  // namespace

std::string latex_text(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const auto* const known =
        std::find_if(kReplacements.begin(), kReplacements.end(),
                     [&](const Replacement& one) { return text.starts_with(one.first); });
    if (known != kReplacements.end()) {
      result += known->second;
      text.remove_prefix(known->first.size());
      continue;
    }
    if (std::string_view("&%$#_{}").find(text.front()) != std::string_view::npos) result += '\\';
    result += text.front();
    text.remove_prefix(1);
  }
  return result;
}

std::string latex_comment(std::string text) {
  for (char& c : text)
    if (c == '\n' || c == '\r') c = ' ';
  return "% " + text + "\n";
}

std::string latex_notes(const std::vector<std::string>& sentences) {
  std::string text;
  for (const std::string& sentence : sentences)
    text += fmt::format("{}{}.", text.empty() ? "" : "\n", latex_text(sentence));
  return text.empty() ? "" : latex_paragraph(text);
}

std::string latex_paragraph(std::string_view words) {
  return fmt::format(
      "\\par\\smallskip\n\\begin{{minipage}}{{\\linewidth}}\n\\footnotesize\n{}\n"
      "\\end{{minipage}}\n",
      words);
}

std::string latex_number(std::string_view formatted) {
  const auto is_digit = [&](std::size_t at) {
    return at < formatted.size() && std::isdigit(static_cast<unsigned char>(formatted[at])) != 0;
  };
  for (std::size_t at = 1; at + 1 < formatted.size(); ++at) {
    const bool after = is_digit(at - 1) || formatted[at - 1] == ')';
    const bool is_signed = formatted[at + 1] == '-' || formatted[at + 1] == '+';
    std::size_t end = at + (is_signed ? 2 : 1);
    if (formatted[at] != 'e' || !after || !is_digit(end)) continue;
    while (is_digit(end)) ++end;
    return latex_text(with_minus(formatted.substr(0, at))) +
           fmt::format("$\\times 10^{{{}}}$",
                       std::stoi(std::string(formatted.substr(at + 1, end - at - 1)))) +
           latex_number(formatted.substr(end));
  }
  return latex_text(with_minus(formatted));
}

std::string readable_name(std::string_view name) {
  std::string result;
  if (take_start(name, "auc_")) result = "mean height of ";
  if (take_start(name, "eval_")) result += "test ";
  if (take_start(name, "train_")) result += "training ";
  result += name;
  for (char& c : result)
    if (c == '_') c = ' ';
  constexpr std::string_view kMid = " mid";
  if (result.ends_with(kMid)) result.replace(result.size() - kMid.size(), kMid.size(), ", mid-run");
  if (!result.empty())
    result.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(result.front())));
  return result;
}

}  // namespace acid

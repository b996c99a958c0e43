// A comparison as a table for a paper.
#include <fmt/format.h>

#include "reports/compare.hpp"
#include "reports/settings.hpp"

namespace acid {
namespace {

std::string latex_text(std::string_view text) {
  std::string result;
  for (std::size_t at = 0; at < text.size(); ++at) {
    constexpr std::string_view kPlusMinus = "±";
    const char c = text[at];
    if (text.substr(at, kPlusMinus.size()) == kPlusMinus) {
      result += "$\\pm$";
      at += kPlusMinus.size() - 1;
    } else if (c == '\\') {
      result += "\\textbackslash{}";
    } else if (c == '~') {
      result += "\\textasciitilde{}";
    } else if (c == '^') {
      result += "\\textasciicircum{}";
    } else if (c == '<' || c == '>' || c == '|') {
      result += fmt::format("${}$", c);
    } else if (c == '\n') {
      result += ' ';
    } else {
      if (std::string_view("&%$#_{}").find(c) != std::string_view::npos) result += '\\';
      result += c;
    }
  }
  return result;
}

// A comment must not end before its line does.
std::string latex_comment(std::string text) {
  for (char& c : text)
    if (c == '\n' || c == '\r') c = ' ';
  return "% " + text + "\n";
}

}  // namespace

std::string to_latex(const Comparison& comparison) {
  std::string text = latex_comment(
      "needs \\usepackage{booktabs}; mean ± half of the 95 % Student-t "
      "interval over n seeds");
  for (const std::string& note : comparison.notes) text += latex_comment(note);
  for (const ComparedSection& section : comparison.sections) {
    if (!section.settings.empty()) text += latex_comment(settings_title(section.settings));
    text +=
        fmt::format("\\begin{{tabular}}{{l{}}}\n\\toprule\nAlgorithm",
                    std::string(comparison.columns.size() + 1 + comparison.metrics.size(), 'r'));
    for (const std::string& key : comparison.columns) text += " & " + latex_text(key);
    text += " & $n$";
    for (const std::string& metric : comparison.metrics) text += " & " + latex_text(metric);
    text += " \\\\\n\\midrule\n";
    for (const std::size_t g : section.groups) {
      const ComparedGroup& group = comparison.groups[g];
      const FlatSettings flat = flatten(group.settings);
      text += latex_text(group.label);
      for (const std::string& key : comparison.columns)
        text += " & " + latex_text(value_text(value_at(flat, key)));
      text += fmt::format(" & {}", group.runs.size());
      for (const std::string& metric : comparison.metrics)
        text += " & " + (group.metrics.contains(metric) || censored(group, metric) > 0
                             ? latex_text(estimate_cell(group, metric))
                             : "--");
      text += " \\\\\n";
    }
    text += "\\bottomrule\n\\end{tabular}\n";
  }
  return text;
}

}  // namespace acid

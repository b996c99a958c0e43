// Tables that fit a page.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <numeric>

#include "reports/latex.hpp"

namespace acid {
namespace {

constexpr double kLine = 345;
/// Type of 10 pt, and of 8 pt with columns closer together (\\footnotesize).
struct Type {
  double scale, column_gap;
};
constexpr Type kUsual{1, 12}, kSmall{0.85, 6};
constexpr double kSymbol = 7.78, kOther = 5.6, kSuperscript = 0.75;

/// From blank to tilde, in hundredths of a point (cmr10.tfm; what it lacks from cmtt10).
constexpr std::array<int, 95> kWidths{
    333, 278, 500, 833, 500, 833, 778, 278, 389, 389, 500, 778, 278, 333, 278, 500, 500, 500,  500,
    500, 500, 500, 500, 500, 500, 500, 278, 278, 778, 778, 778, 472, 778, 750, 708, 722, 764,  681,
    653, 785, 750, 361, 514, 778, 625, 917, 750, 778, 681, 778, 736, 556, 722, 750, 750, 1028, 750,
    750, 611, 278, 525, 278, 500, 360, 278, 500, 556, 444, 556, 444, 306, 500, 556, 278, 306,  528,
    278, 833, 556, 500, 556, 528, 392, 394, 389, 556, 528, 722, 528, 528, 444, 525, 278, 525,  500};

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }

double sum_of(const std::vector<double>& widths) {
  return std::accumulate(widths.begin(), widths.end(), 0.0);
}

double tabular_width(double widths, std::size_t columns, const Type& type) {
  return type.scale * widths + type.column_gap * static_cast<double>(columns);
}

std::vector<double> widths_of(const std::vector<std::vector<std::string>>& rows) {
  std::vector<double> widths(rows.front().size(), 0);
  for (const auto& row : rows)
    for (std::size_t c = 0; c < row.size(); ++c)
      widths[c] = std::max(widths[c], latex_width(row[c]));
  return widths;
}

LatexFit fit_of(const std::vector<double>& widths, std::size_t keys) {
  const auto middle = widths.begin() + static_cast<std::ptrdiff_t>(keys);
  return latex_fit({widths.begin(), middle}, {middle, widths.end()});
}

}  // namespace

double latex_width(std::string_view cell) {
  constexpr std::string_view kStack = "\\shortstack[r]{";
  if (cell.starts_with(kStack)) {  // as wide as its widest line
    double widest = 0;
    for (cell.remove_prefix(kStack.size()); !cell.empty();) {
      const std::size_t end = std::min(cell.find("\\\\"), cell.size());
      widest = std::max(widest, latex_width(cell.substr(0, end)));
      cell.remove_prefix(std::min(end + 2, cell.size()));
    }
    return widest;
  }
  double width = 0, scale = 1;
  for (std::size_t k = 0; k < cell.size(); ++k) {
    const char c = cell[k];
    if (c == '\\' && k + 1 < cell.size() && is_letter(cell[k + 1])) {
      const std::size_t name = k + 1;
      while (k + 1 < cell.size() && is_letter(cell[k + 1])) ++k;
      const bool bold = cell.substr(name, k + 1 - name) == "textbf";
      if (bold) scale = 1.15;
      if (!bold) width += scale * kSymbol;
    } else if (c == '^') {
      scale *= kSuperscript;
    } else if (c == '$') {
      scale = 1;
    } else if (c == '\\' || c == '{' || c == '}') {
      if (c == '\\' && k + 1 < cell.size()) width += scale * kWidths[cell[++k] - ' '] / 100;
    } else if (c >= ' ' && c <= '~') {
      width += scale * kWidths[static_cast<std::size_t>(c - ' ')] / 100;
    } else if ((static_cast<unsigned char>(c) & 0xC0) != 0x80) {
      width += scale * kOther;
    }
  }
  return width;
}

std::string latex_head(const std::string& head, double width) {
  std::vector<std::string> words{""};
  for (const char c : head)
    if (c == ' ')
      words.emplace_back();
    else
      words.back() += c;
  for (const std::string& word : words) width = std::max(width, latex_width(word));
  std::vector<std::string> lines;
  for (const std::string& word : words)
    if (!lines.empty() && latex_width(lines.back() + " " + word) <= width)
      lines.back() += " " + word;
    else
      lines.push_back(word);
  if (lines.size() == 1) return head;
  return fmt::format("\\shortstack[r]{{{}}}", fmt::join(lines, "\\\\"));
}

LatexFit latex_fit(const std::vector<double>& keys, const std::vector<double>& columns) {
  LatexFit fit;
  const double key_width = sum_of(keys);
  const auto fits = [&](double width, std::size_t count, const Type& type) {
    return tabular_width(key_width + width, keys.size() + count, type) <= kLine;
  };
  fit.small = !fits(sum_of(columns), columns.size(), kUsual);
  const Type& type = fit.small ? kSmall : kUsual;
  for (std::size_t first = 0, last = 0; first < columns.size(); first = last) {
    double width = columns[last++];
    while (last < columns.size() && fits(width + columns[last], last + 1 - first, type))
      width += columns[last++];
    fit.parts.push_back({first, last});
  }
  return fit;
}

std::string latex_tabulars(
    const LatexFit& fit,
    const std::function<std::string(std::array<std::size_t, 2> part)>& tabular_of) {
  std::string text = fit.small ? "{\\footnotesize\\setlength{\\tabcolsep}{3pt}\n" : "";
  for (std::size_t k = 0; k < fit.parts.size(); ++k)
    text += (k > 0 ? "\n\\medskip\n" : "") + tabular_of(fit.parts[k]);
  return text + (fit.small ? "\\par}\n" : "");
}

std::string LatexTable::str() const {
  std::vector<std::vector<std::string>> cells = rows;
  LatexFit fit = fit_of(widths_of(cells), keys);
  if (fit.small) {
    const std::vector<double> numbers = widths_of({cells.begin() + 1, cells.end()});
    for (std::size_t c = 0; c < cells.front().size(); ++c)
      cells.front()[c] = latex_head(cells.front()[c], numbers[c]);
    fit = fit_of(widths_of(cells), keys);
  }
  return latex_tabulars(fit, [&](std::array<std::size_t, 2> part) {
    std::string text = fmt::format("\\begin{{tabular}}{{l{}}}\n\\toprule\n",
                                   std::string(keys - 1 + part[1] - part[0], 'r'));
    for (const auto& row : cells) {
      std::vector<std::string> line(row.begin(), row.begin() + static_cast<std::ptrdiff_t>(keys));
      for (std::size_t c = part[0]; c < part[1]; ++c) line.push_back(row[keys + c]);
      text += fmt::format("{} \\\\\n{}", fmt::join(line, " & "),
                          &row == &cells.front() ? "\\midrule\n" : "");
    }
    return text + "\\bottomrule\n\\end{tabular}\n";
  });
}

std::string latex_float(std::string_view caption, std::string_view label, std::string_view inside) {
  return fmt::format(
      "\\begin{{table}}\n\\centering\n\\caption{{{}}}\n\\label{{tab:{}}}\n{}\\end{{table}}\n",
      caption, label, inside);
}

std::string latex_label(std::string name) {
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '-';
  return name;
}

}  // namespace acid

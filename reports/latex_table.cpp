// Tables that fit a page.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <numeric>

#include "reports/latex.hpp"
#include "reports/report_table.hpp"

namespace acid {
namespace {

constexpr double kLine = 345;
/// Type of 10 pt, and of 8 pt with columns closer together (\\footnotesize).
struct Type {
  double scale, column_gap;
};
constexpr Type kUsual{1, 12}, kSmall{0.85, 6};
constexpr double kSymbol = 7.78, kOther = 5.6, kSuperscript = 0.75;

/// From blank to tilde, in hundredths of a point (cmr10.tfm; characters that it lacks from cmtt10).
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
    } else if (c == '^' || c == '_') {
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

namespace {

/// A head in as many lines as make it no wider than `width` or than its longest word.
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

/// How columns, of so many points, fit the lines of a page (345 pt, those of the article class):
/// beside each other or, where smaller type does not help, in several tabulars, each with the key
/// columns before its own.
struct LatexFit {
  bool small = false;
  std::vector<std::array<std::size_t, 2>> parts;  // [first, last) of the columns
};

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

std::string latex_cell(const ReportCell& cell) {
  const std::string_view words = cell.in_print.empty() ? cell.text : cell.in_print;
  std::string text = cell.kind == ReportCell::Kind::number ? latex_number(words)
                     : cell.kind == ReportCell::Kind::symbol
                         ? fmt::format("${}${}", words.front(), latex_text(words.substr(1)))
                         : latex_text(words);
  if (cell.best) text = fmt::format("\\textbf{{{}}}", text);
  return cell.equivalent ? text + " $\\approx$" : text;
}

/// The heads right above the columns, and how the columns fit a page.
struct LatexHeads {
  std::vector<std::string> words;
  LatexFit fit;
};

LatexHeads heads_of(const ReportTable& table) {
  LatexHeads heads;
  std::vector<double> widths;  // of the columns below them
  for (const ReportColumn& column : table.columns) {
    heads.words.push_back(latex_cell(column.heads.back()));
    widths.push_back(0);
    for (const ReportCell& cell : column.cells)
      widths.back() = std::max(widths.back(), latex_width(latex_cell(cell)));
  }
  const auto fit = [&] {
    std::vector<double> whole;
    for (std::size_t c = 0; c < widths.size(); ++c)
      whole.push_back(std::max(widths[c], latex_width(heads.words[c])));
    const auto middle = whole.begin() + static_cast<std::ptrdiff_t>(table.keys);
    heads.fit = latex_fit({whole.begin(), middle}, {middle, whole.end()});
  };
  fit();
  if (!heads.fit.small) return heads;
  for (std::size_t c = 0; c < widths.size(); ++c)
    heads.words[c] = latex_head(heads.words[c], widths[c]);
  fit();
  return heads;
}

std::string latex_line(const std::vector<std::string>& cells) {
  return fmt::format("{} \\\\\n", fmt::join(cells, " & "));
}

/// A line of heads above others, and the rules below it.
std::string upper_heads(const ReportTable& table, std::size_t level) {
  std::vector<std::string> cells(table.keys);
  std::string rules;
  const auto share = [&](std::size_t a, std::size_t b) {
    for (std::size_t upper = 0; upper <= level; ++upper)
      if (table.columns[a].heads[upper].text != table.columns[b].heads[upper].text) return false;
    return true;
  };
  for (std::size_t c = table.keys, next = 0; c < table.columns.size(); c = next) {
    next = c + 1;
    while (next < table.columns.size() && share(next, c)) ++next;
    cells.push_back(fmt::format("\\multicolumn{{{}}}{{c}}{{{}}}", next - c,
                                latex_cell(table.columns[c].heads[level])));
    rules += fmt::format("\\cmidrule(lr){{{}-{}}}", c + 1, next);
  }
  return latex_line(cells) + rules + "\n";
}

std::string tabular_of(const ReportTable& table, const std::vector<std::string>& heads) {
  std::string text =
      fmt::format("\\begin{{tabular}}{{{}{}}}\n\\toprule\n", std::string(table.names, 'l'),
                  std::string(table.columns.size() - table.names, 'r'));
  for (std::size_t level = 0; level + 1 < table.columns.front().heads.size(); ++level)
    text += upper_heads(table, level);
  text += latex_line(heads) + "\\midrule\n";
  for (std::size_t row = 0; row < table.rows(); ++row) {
    if (table.grouped && table.keys > 1 && row > 0 && !table.repeats(row, 0))
      text += "\\addlinespace\n";
    std::vector<std::string> cells;
    for (std::size_t c = 0; c < table.columns.size(); ++c)
      cells.push_back(table.repeats(row, c) ? "" : latex_cell(table.columns[c].cells[row]));
    text += latex_line(cells);
  }
  return text + "\\bottomrule\n\\end{tabular}\n";
}

}  // namespace

std::string latex_table(const ReportTable& table) {
  const LatexHeads heads = heads_of(table);
  const auto columns = [&](std::size_t c) {
    return heads.words.begin() + static_cast<std::ptrdiff_t>(c);
  };
  std::string text = heads.fit.small ? "{\\footnotesize\\setlength{\\tabcolsep}{3pt}\n" : "";
  for (const auto& part : heads.fit.parts) {
    std::vector<std::string> words(columns(0), columns(table.keys));
    words.insert(words.end(), columns(table.keys + part[0]), columns(table.keys + part[1]));
    if (&part != &heads.fit.parts.front()) text += "\n\\medskip\n";
    text += tabular_of(table.part({0, table.rows()}, part), words);
  }
  return text + (heads.fit.small ? "\\par}\n" : "");
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

// Charts as files for a paper.
#include "reports/figure/figure.hpp"
#include "reports/html/font.hpp"
#include "reports/html/forest.hpp"
#include "tests/catch.hpp"
#include "tests/reports/synthetic.hpp"

using namespace acid;
using synthetic::has;

namespace {

Figure forest_figure() {
  Forest forest;
  forest.id = "f";
  forest.title = "Difference in <loss> & more";
  forest.x_label = "difference";
  forest.line = 0;
  forest.rows = {{"A²CiD²", false, 3, 1, 0.5, 1.5, "1 [0.5, 1.5]"}};
  return figure_of(*draw_forest(forest).drawing);
}

}  // namespace

TEST_CASE("a drawing is read back with the looks of the page's style sheet") {
  const Figure figure = forest_figure();
  CHECK(figure.width == 420);
  CHECK(figure.title == "Difference in <loss> & more");
  bool marker = false, label = false, whisker = false;
  for (const FigureItem& item : figure.items) {
    marker = marker || (item.scale < 0.1 && item.look.fill == "#009e73");
    whisker = whisker || (item.look.stroke == "#009e73" && item.look.width == 1.5);
    label = label || (item.text == "A²CiD²" && item.look.fill == "#009e73");
  }
  CHECK(marker);
  CHECK(whisker);
  CHECK(label);
  CHECK_FALSE(draw_forest({}).drawing);
}

TEST_CASE("a figure's files are whole, and equal for equal figures") {
  const Figure figure = forest_figure();
  const std::string pdf = figure_pdf(figure, 84), svg = figure_svg(figure, 84);
  CHECK(pdf == figure_pdf(forest_figure(), 84));
  CHECK(svg == figure_svg(forest_figure(), 84));
  CHECK(pdf.rfind("%PDF-1.7", 0) == 0);
  CHECK(has(pdf, "/MediaBox [0 0 238.1102 "));
  const std::size_t table = std::stoul(pdf.substr(pdf.rfind("startxref") + 10));
  CHECK(pdf.compare(table, 4, "xref") == 0);
  const std::size_t first = std::stoul(pdf.substr(table + 30, 10));
  CHECK(pdf.compare(first, 7, "1 0 obj") == 0);
  CHECK(has(svg, "width=\"84mm\""));
  CHECK(has(svg, "<title>Difference in &lt;loss&gt; &amp; more</title>"));
  CHECK(has(svg, "data:font/ttf;base64,"));
  CHECK_FALSE(has(svg, "class="));
  CHECK_FALSE(has(svg, "var("));
}

TEST_CASE("characters that the PDF's font lacks are named") {
  Figure figure = forest_figure();
  CHECK(characters_without_form(figure).empty());
  figure.items.back().text = "方法 α 方";
  CHECK(characters_without_form(figure) == "方 法");
}

TEST_CASE("a title above a figure makes it higher") {
  const Figure plain = forest_figure(), titled = with_title(plain);
  CHECK(titled.height > plain.height);
  CHECK(titled.items.back().text == plain.title);
  CHECK(titled.items.front().dy > plain.items.front().dy);
  Figure told = plain;
  told.legend =
      "95 % intervals that hold for all 12 at once; the test decides; * over the seeds "
      "that finished in both";
  told = with_title(told);
  CHECK(told.height > titled.height);
  CHECK(has(told.items.back().text, "finished in both"));
  for (const FigureItem& item : told.items)
    if (!item.text.empty()) CHECK(text_width(item.text, item.look.size) < told.width);
}

TEST_CASE("a title is as long as it is, within the figure") {
  Figure figure = forest_figure();
  figure.width = 250;
  figure.title = "gaussian-mixture, dirichlet alpha 0.12345, 16 workers of " + std::string(60, 'W');
  const Figure titled = with_title(figure);
  std::string title;
  for (const FigureItem& item : titled.items) {
    if (item.text.empty() || item.dy > 0) continue;
    CHECK(text_width(item.text, item.look.size) <= titled.width);
    title += item.text + "|";
  }
  INFO(title);
  CHECK(has(title, "gaussian-mixture, dirichlet alpha"));
  CHECK(has(title, "16|workers of|WWW"));
  CHECK(has(title, "…|"));
}

TEST_CASE("the font has what charts write, and widths add up") {
  for (const char32_t c : code_points("A²CiD² χ₁ − × ± ← → ≤ λᵢⱼ x̄ é"))
    CHECK(figure_font().glyphs.contains(c));
  CHECK(text_width("AB", 10) == Approx(text_width("A", 10) + text_width("B", 10)));
  CHECK(text_width("iii", 10) < text_width("MMM", 10));
  CHECK(code_points("\xFFz") == std::vector<char32_t>{U'\uFFFD', U'z'});
  CHECK(text_width("\xF0\x9F\x98\x80", 10) > 0);  // one it does not have
}

#include <fmt/format.h>

#include <limits>
#include <regex>
#include <set>

#include "reports/drawing/looks.hpp"
#include "reports/html/encoding.hpp"
#include "reports/html/line_chart.hpp"
#include "reports/html/markup.hpp"
#include "reports/html/network_charts.hpp"
#include "reports/html/plot_area.hpp"
#include "reports/html/scale.hpp"
#include "reports/html/svg.hpp"
#include "tests/catch.hpp"
#include "tests/reports/synthetic.hpp"

using namespace acid;
using synthetic::has;

namespace {

LineChart chart_of(std::vector<CurvePoint> points, bool logarithmic) {
  LineChart chart{.id = "c",
                  .title = "Loss",
                  .x_label = "gradients",
                  .x_ticks = &format_count,
                  .logarithmic = logarithmic,
                  .series = {}};
  std::vector<double> values, places;
  for (const CurvePoint& point : points) {
    values.push_back(point.y);
    places.push_back(point.x);
  }
  chart.series.push_back({"ad-psgd", 1, {points}, band_over_seeds({values}, places, logarithmic)});
  return chart;
}

}  // namespace

TEST_CASE("every character that means something in HTML is escaped, and broken UTF-8 replaced") {
  CHECK(escaped("<b a='1' c=\"2\">&</b>") ==
        "&lt;b a=&#39;1&#39; c=&quot;2&quot;&gt;&amp;&lt;/b&gt;");
  CHECK(escaped("A²CiD²\n") == "A²CiD²\n");
  CHECK(escaped("\xFF\xC3(") == "\xEF\xBF\xBD\xEF\xBF\xBD(");
  CHECK(escaped(std::string("a\0b\x1b", 4)) ==
        "a\xEF\xBF\xBD"
        "b\xEF\xBF\xBD");
  CHECK(number_text("-1.5e-07").html == "−1.5e−07");
}

TEST_CASE("a policy allows exactly one content, by its SHA-256 in base64") {
  CHECK(content_hash("") == "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='");
  CHECK(content_hash("abc") == "'sha256-ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0='");
}

TEST_CASE("an algorithm has one look in every report, and no two of a report share one") {
  const std::vector<std::string> known{"AR-SGD",   "D-PSGD", "AD-PSGD", "A²CiD²",
                                       "SwarmSGD", "SGP",    "DiLoCo",  "Local SGD"};
  const std::vector<int> alone = styles_of_labels(known);
  CHECK(alone[0] == 0);
  CHECK(std::set<int>(alone.begin(), alone.end()).size() == known.size());
  for (std::size_t k = 0; k < known.size(); ++k)
    CHECK(styles_of_labels({"another", known[k]})[1] == alone[k]);
  CHECK(styles_of_labels({"AR-SGD, lr 0.1", "AR-SGD"})[1] == alone[0]);
  std::vector<std::string> more = known;
  for (int k = 0; k < 50; ++k) more.push_back(fmt::format("AR-SGD, {}", k));
  const std::vector<int> styles = styles_of_labels(more);
  CHECK(std::set<int>(styles.begin(), styles.end()).size() == more.size());
  std::set<std::pair<int, int>> looks;
  for (const int style : styles) looks.emplace(colour_of(style), shape_of(style));
  CHECK(looks.size() == more.size());
  CHECK(styles_of_labels({"AR-SGD", "AR-SGD"}) == std::vector<int>{0, 0});
}

TEST_CASE("the table of a chart has recorded values, at their own places") {
  const auto row_of = [](const std::string& html, const std::string& place) {
    const std::string text = std::regex_replace(html.substr(html.find("<summary>Data</summary>")),
                                                std::regex("<[^>]*>"), " ");
    std::smatch found;
    return std::regex_search(text, found, std::regex("\\s" + place + "\\s+(\\S+( \\S+)*)"))
               ? found[1].str()
               : std::string();
  };
  LineChart chart = chart_of({{0, 2}, {40, 1}, {80, 0.5}}, false);
  chart.series.front().seeds.push_back({{0, 4}, {40, 3}, {80, 2.5}});
  // Coarse cells, whose means are not the values at their edges.
  chart.series.front().band = band_over_seeds({{1.3, 0.6}, {3.3, 2.6}}, {20, 60}, false);
  const std::string html = draw(chart).html();
  INFO(html.substr(html.find("<summary>Data</summary>")));
  CHECK(row_of(html, "0") == "3 ± 13");
  CHECK(row_of(html, "20") == "2 ± 13");
  CHECK(row_of(html, "80") == "2 ± 13");
  chart.series.front().whole = false;  // then its ends alone are known
  CHECK(row_of(draw(chart).html(), "0") == "3 ± 13");
  CHECK(row_of(draw(chart).html(), "20").starts_with("≈ 2 ± 13"));
}

TEST_CASE("linear ticks are round and within the scale") {
  const auto values = ticks({0, 97, 0, 1, false}, 5);
  CHECK(values == std::vector<double>{0, 20, 40, 60, 80});
  for (const auto& [low, high] : {std::pair{-3.0, 4.0}, {0.1, 0.13}, {0.0, 1e-9}, {1e6, 1.1e6}}) {
    const auto found = ticks({low, high, 0, 1, false}, 5);
    CHECK(found.size() >= 2);
    for (const double value : found) CHECK((value >= low - 1e-12 && value <= high * 1.000001));
  }
}

TEST_CASE("logarithmic ticks are powers of ten, closer on a short range") {
  CHECK(ticks({1e-3, 1e3, 0, 1, true}, 7).size() == 7);
  CHECK(ticks({0.9, 11, 0, 1, true}, 5) == std::vector<double>{1, 2, 5, 10});
  CHECK(ticks({1e-12, 1, 0, 1, true}, 5).size() <= 5);
  CHECK(ticks({1.1, 1.3, 0, 1, true}, 5).size() >= 2);
  const Scale scale{1, 100, 0, 10, true};
  CHECK(scale(10) == Approx(5));
}

TEST_CASE("neighbouring ticks have different texts") {
  const auto texts_of = [](const Scale& scale, TickFormat format) {
    std::string texts;
    for (const Tick& tick : named_ticks(scale, 5, format)) texts += tick.text + " ";
    return texts;
  };
  CHECK(texts_of({0.9715, 0.9737, 0, 1, false}, &format_number) ==
        "0.9715 0.972 0.9725 0.973 0.9735 ");
  CHECK(texts_of({1e6, 1.02e6, 0, 1, false}, &format_number) ==
        "1e+06 1.005e+06 1.01e+06 1.015e+06 1.02e+06 ");
  CHECK(texts_of({1e6, 1.02e6, 0, 1, false}, &format_count) == "1M 1.005M 1.01M 1.015M 1.02M ");
  CHECK(
      texts_of({1e-6, 0.9e-4, 0, 1, true}, &format_number).starts_with("1e-06 2e-06 5e-06 1e-05 "));
  CHECK(texts_of({0, 97, 0, 1, false}, &format_number) == "0 20 40 60 80 ");
  // Along an axis there are fewer where they would touch.
  CHECK(named_ticks_along({0.9715, 0.9737, 0, 400, false}, 5).size() == 5);
  CHECK(named_ticks_along({0.9715, 0.9737, 0, 60, false}, 5).size() < 5);
}

TEST_CASE("a chart of values at one place has room around it") {
  LineChart chart{.id = "c", .title = "Seconds", .x_label = "n", .bands_only = true, .series = {}};
  ChartSeries& series = chart.series.emplace_back();
  series.label = "ad-psgd";
  series.band.x = {4};
  series.band.mean = {1};
  series.band.low = {0.9};
  series.band.high = {1.1};
  for (const bool logarithmic : {false, true}) {
    chart.logarithmic_x = logarithmic;
    const std::string html = draw(chart).html();
    CHECK_FALSE(has(html, "nan"));
    CHECK_FALSE(has(html, "inf"));
    CHECK(has(html, ">ad-psgd</text>"));
  }
}

TEST_CASE("a fitted scale has room and respects zero") {
  CHECK(fitted(0, 1, false).low == 0);
  CHECK(fitted(5, 5, false).low < 5);
  CHECK(fitted(0, 0, false).high > 0);
  CHECK(fitted(2, 2, true).low > 0);
  CHECK(fitted(-1, -1, false).high > -1);
}

TEST_CASE("paths are short relative integers") {
  CHECK(path_data(std::vector<CurvePoint>{{1, 2}, {2, 1.5}, {4, 3}}) == "M10 20l10-5 20 15");
  CHECK(path_data(std::vector<CurvePoint>{{1, 2}, {1, 2}, {1, 2}, {2, 2}, {3, 1}}) ==
        "M10 20l10 0 10-10");
  CHECK(path_data(std::vector<CurvePoint>{}).empty());
  CHECK(svg_number(1.25) == "1.3");
  CHECK(svg_number(-0.34) == "-0.3");
  CHECK(svg_number(7) == "7");
}

TEST_CASE("a line chart names itself for those who cannot see it and carries its data") {
  const std::string svg = draw(chart_of({{0, 2}, {50, 1}, {100, 0.5}}, false)).html();
  CHECK(has(svg, "role=\"img\" aria-labelledby=\"c-t c-d\""));
  CHECK(has(svg, "<title id=\"c-t\">Loss</title>"));
  CHECK(has(svg, "<desc id=\"c-d\">"));
  CHECK(has(svg, "<summary>Data</summary>"));
  CHECK(has(svg, ">ad-psgd</text>"));
  CHECK_FALSE(has(svg, "nan"));
  CHECK_FALSE(has(svg, "inf"));
}

TEST_CASE("a logarithmic chart leaves out zeros and says so") {
  LineChart chart = chart_of({{0, 0}, {50, 1}, {100, 10}}, true);
  LineChart zeros = chart_of({{0, 0}, {100, 0}}, true);
  zeros.series[0].label = "ar-sgd";
  chart.series.push_back(zeros.series[0]);
  const std::string svg = draw(chart).html();
  CHECK(has(svg, "ar-sgd: zero on this scale, not drawn."));
  chart.references.push_back({"ad-psgd bound", "as theory says.", 1, {{0, 10}, {100, 1}}});
  const PageFigure figure = draw(chart);  // a file has no words below it
  CHECK(figure.notes == std::vector<std::string>{"ar-sgd: zero on this scale, not drawn.",
                                                 "ad-psgd bound: as theory says."});
  REQUIRE(figure.drawing);
  CHECK(figure.drawing->legend == "thin and dashed: ad-psgd bound");
  CHECK_FALSE(has(svg, "nan"));
  CHECK(has(draw(zeros).html(), "Nothing to draw"));
  CHECK(has(draw(chart_of({}, false)).html(), "Nothing to draw"));
  CHECK_FALSE(has(draw(chart_of({{5, 1}}, false)).html(), "nan"));
}

TEST_CASE("topology and pairing drawings hold every worker and every edge at any size") {
  for (const int workers : {1, 2, 3, 16, kMostDrawnWorkers}) {
    std::vector<RatedEdge> edges;
    for (int i = 0; i + 1 < workers; ++i) edges.push_back({i, i + 1, 1.0, 0.9});
    const std::string graph = draw_topology("g", "chain", workers, edges, 0).html();
    CHECK(synthetic::count_of(graph, "<circle") == static_cast<std::size_t>(workers));
    CHECK_FALSE(has(graph, "nan"));
    const std::string heat = draw_pairing("h", "chain", workers, edges).html();
    CHECK_FALSE(has(heat, "nan"));
    if (workers == 16) CHECK(has(heat, "M1 0h1v1h-1z"));
  }
  CHECK_FALSE(has(draw_topology("g", "torus", 16, {{0, 3, 1, 1}, {0, 1, 1, 1}}, 4).html(), "nan"));
}

TEST_CASE("bars become a sentence when there are too many") {
  CHECK(has(draw_bars("b", "gradients", 0, {1, 2, 3}, false).html(), "<svg"));
  CHECK(has(draw_bars("b", "idle", 0, std::vector<double>(1000, 0.25), true).html(),
            "1000 workers: smallest 25 %"));
  CHECK(draw_bars("b", "idle", 0, {}, true).empty());
  CHECK_FALSE(has(draw_bars("b", "idle", 0, {0, 0}, true).html(), "nan"));
}

TEST_CASE("who holds what is a heat map of workers and classes") {
  const std::string drawn = draw_holdings("d", "sorted <", {{30, 0}, {10, 20}}).html();
  CHECK(has(drawn, "A worker holds 30 examples, of 1 to 2 of the 2 classes."));
  CHECK(has(drawn, "<path class=\"h8\" d=\"M0 0h1v1h-1z\"/>"));
  CHECK(has(drawn, "<path class=\"h3\" d=\"M1 0h1v1h-1z\"/>"));
  CHECK(has(drawn, "worker,class,examples\n0,0,30\n1,0,10\n1,1,20\n"));
  CHECK(has(drawn, "sorted &lt;"));
  CHECK_FALSE(has(draw_holdings("d", "none", {{0, 0}, {0, 0}}).html(), "nan"));
}

TEST_CASE(
    "the way from a curve's end to its name is no curve: level in the plot, grey and dotted") {
  LineChart chart = chart_of({{0, 1}, {50, 2}}, false);
  const LineChart longer = chart_of({{0, 1}, {100, 9}}, false);
  chart.series.push_back(longer.series.front());
  chart.series.back().label = "another";
  const std::string html = draw(chart).html();
  const std::regex lead("class=\"lead\" d=\"M([0-9.]+) ([0-9.]+)H([0-9.]+)L([0-9.]+) ([0-9.]+)\"");
  std::size_t leads = 0;
  for (std::sregex_iterator found(html.begin(), html.end(), lead), end; found != end; ++found) {
    ++leads;
    CHECK(std::stod((*found)[4]) - std::stod((*found)[3]) < 10);  // slanted beside the plot only
  }
  CHECK(leads == 2);
  const std::string style(style_sheet());
  const std::string rule = style.substr(style.find(".lead{"), 100);
  CHECK(has(rule.substr(0, rule.find('}')), "stroke:var(--soft)"));
  CHECK(has(rule.substr(0, rule.find('}')), "stroke-dasharray"));
}

TEST_CASE("what goes on below a logarithmic chart ends at its edge, and words say so") {
  LineChart chart = chart_of({{0, 1e3}, {50, 1}, {100, 1e-17}}, true);
  chart.series.front().label = "exact";
  LineChart below = chart_of({{0, 1e-12}, {100, 1e-14}}, true);
  below.series.front().label = "hidden";
  ChartSeries& hidden = below.series.front();
  hidden.seeds.push_back(hidden.seeds.front());
  hidden.band = {{0, 100}, {1e-12, 1e-14}, {1e-13, 1e-15}, {1e-11, 1e-13}};
  chart.series.push_back(hidden);
  const PageFigure figure = draw(chart);
  const std::string html = figure.html();
  INFO(html);
  CHECK(has(html, "H368.8L375.8 202\""));  // the name of "exact" is at the lower edge
  CHECK(has(html, ">exact</text>"));
  CHECK_FALSE(has(html, ">hidden</text>"));
  CHECK_FALSE(has(html, "class=\"band\""));
  CHECK_FALSE(has(html, "class=\"cut\""));
  CHECK(figure.notes ==
        std::vector<std::string>{"exact, hidden: values below this axis are not drawn."});
  CHECK(figure.drawing->legend == figure.notes.front());
  CHECK(has(html, "<p class=\"note\">exact, hidden: values below this axis are not drawn.</p>"));
}

TEST_CASE("a band is cut just where it leaves the chart") {
  PlotArea plot{{0, 10, 0, 100}, {0, 1, 50, 0}};
  const auto cuts_at = [&](std::vector<double> low, std::vector<double> high) {
    std::string words;
    for (const auto& cut : cuts_of({{0, 5, 10}, {}, low, high}, plot))
      words += fmt::format("{:.1f}–{:.1f} at {} ", cut.front().x, cut.back().x, cut.front().y);
    return words;
  };
  CHECK(cuts_at({0, 0, 0}, {2, 0.5, 0.5}) == "0.0–33.0 at 1 ");
  CHECK(cuts_at({0.5, 0.5, -1}, {0.6, 0.6, 0.6}) == "67.0–100.0 at 49 ");
  CHECK(cuts_at({0, 0, 0}, {2, 3, 2}) == "0.0–100.0 at 1 ");
  CHECK(cuts_at({0, 0, 0}, {1, 1, 1}).empty());
  CHECK(cuts_at({2, 2, 2}, {3, 3, 3}).empty());
  CHECK(cuts_at({-3, -3, -3}, {-2, -2, -2}).empty());
  plot.y = {1e-10, 1, 50, 0, true};
  CHECK(cuts_at({0, 0, 0}, {1e-12, 1e-15, 0}).empty());
}

TEST_CASE("an interval that goes on beyond a chart has a dotted edge there") {
  LineChart chart = chart_of({{0, 1}, {50, 2}, {100, 3}}, false);
  ChartSeries& series = chart.series.front();
  series.seeds.push_back(series.seeds.front());
  series.band = {{0, 50, 100}, {1, 2, 3}, {0.95, 1.5, 2.5}, {1.1, 2.5, 9}};
  const std::string beyond = draw(chart).html();
  CHECK(has(beyond, "class=\"cut\""));
  series.band.high = {1.1, 2.5, 3};
  CHECK_FALSE(has(draw(chart).html(), "class=\"cut\""));
  CHECK(has(std::string(style_sheet()), ".cut{"));
}

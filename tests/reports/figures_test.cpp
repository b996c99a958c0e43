#include <cmath>

#include "engine/base/error.hpp"
#include "reports/html/forest.hpp"
#include "reports/html/markup.hpp"
#include "reports/html/network_charts.hpp"
#include "reports/html/timeline.hpp"
#include "tests/catch.hpp"
#include "tests/reports/synthetic.hpp"

using namespace acid;
using synthetic::count_of;
using synthetic::has;

namespace {

Forest forest_of(const std::vector<ForestRow>& rows) {
  Forest forest;
  forest.id = "f";
  forest.title = "Difference <b>";
  forest.x_label = "difference to AR-SGD";
  forest.line = 0;
  forest.rows = rows;
  return forest;
}

ForestRow row_of(const std::string& label, double value, double low, double high) {
  return {label, false, 1, value, low, high, "numbers"};
}

TimelineData timeline_of(const std::vector<std::vector<Span>>& workers) {
  TimelineData timeline;
  timeline.id = "timeline-0";
  timeline.label = "AD-PSGD";
  timeline.unit = "simulated s";
  timeline.workers = static_cast<int>(workers.size());
  for (std::size_t w = 0; w < workers.size(); ++w)
    timeline.rows.push_back({static_cast<int>(w), workers[w]});
  return timeline;
}

}  // namespace

TEST_CASE("a table carries its file's name and the exact values of rounded cells") {
  HtmlTable table;
  table.csv = "runs-2";
  table.head = {"run", "loss"};
  table.rows = {{text("a\"b"), number_text("-0.33", -1.0 / 3)}};
  const std::string html = table.html();
  CHECK(has(html, "<table data-csv=\"runs-2\">"));
  CHECK(has(html, "data-value=\"-0.3333333333333333\">−0.33</td>"));
  CHECK(has(html, "<th scope=\"row\">a&quot;b</th>"));
  table.csv = "Bad name";
  CHECK_THROWS_AS(table.html(), AssertionError);
}

TEST_CASE("a forest plot shows its line, its intervals and cuts a far one with an arrow") {
  const std::string plain = draw_forest(forest_of({row_of("A", 1, 0.5, 1.5)})).html();
  CHECK(has(plain, "class=\"zero\""));
  CHECK(has(plain, "Difference &lt;b&gt;"));
  CHECK(count_of(plain, "class=\"whisker\"") == 1);
  CHECK(count_of(plain, "class=\"mark s") == 1);
  CHECK(has(plain, "<desc id=\"f-d\">difference to AR-SGD. A numbers.</desc>"));

  const std::string cut = draw_forest(forest_of({row_of("A", 1, 0.5, 1.5), row_of("B", 1, 0.6, 1.4),
                                                 row_of("C", 1, -900, 902)}))
                              .html();
  CHECK(count_of(cut, "class=\"whisker\"") == 3);
  CHECK(count_of(cut, "class=\"mark s") == 3);
  CHECK(count_of(cut, "class=\"mark\"") == 1);  // the arrows
  CHECK_FALSE(has(cut, "500"));                 // no tick out there
}

TEST_CASE("labels of a forest plot that are cut still differ and keep what is marked") {
  Forest forest = forest_of({row_of("ad-psgd, learning rate 0.1", 1, 0.5, 1.5),
                             row_of("ad-psgd, learning rate 0.2", 1, 0.5, 1.5)});
  forest.rows.front().mark = " *";
  const PageFigure figure = draw_forest(forest);
  CHECK(has(figure.html(), ">ad-psgd, learnin…1 *</text>"));
  CHECK(has(figure.html(), ">ad-psgd, learnin…2</text>"));
  CHECK(has(figure.csv, "\"ad-psgd, learning rate 0.1 *\""));
  CHECK(figure.csv.starts_with("setting,label,value,ci_low,ci_high\n"));
}

TEST_CASE("a forest plot takes single seeds, headings and values that are not numbers") {
  ForestRow heading;
  heading.label = "workers = 4";
  heading.heading = true;
  const std::string html = draw_forest(forest_of({heading,
                                                  {"one", false, 0, 2, {}, {}, "2"},
                                                  {"none", false, 0, NAN, NAN, NAN, "nan"}}))
                               .html();
  CHECK(has(html, "class=\"heading\">workers = 4<"));
  CHECK_FALSE(has(html, "class=\"whisker\""));
  CHECK(count_of(html, "class=\"mark s") == 1);
  CHECK(draw_forest(forest_of({heading})).empty());
  CHECK(draw_forest(forest_of({{"none", false, 0, NAN, {}, {}, ""}})).empty());
  Forest ratios = forest_of({{"zero", false, 0, 0, {}, {}, "0"}});
  ratios.logarithmic = true;
  CHECK(draw_forest(ratios).empty());
}

TEST_CASE("staleness is a histogram, or a sentence where nothing was stale") {
  CHECK(draw_staleness("s", "A", 0, {}).empty());
  CHECK(draw_staleness("s", "A", 0, {0, 0}).empty());
  CHECK(has(draw_staleness("s", "A", 0, {7}).html(), "No gradient was stale"));
  const std::string drawn = draw_staleness("s", "A & B", 0, {50, 30, 20}).html();
  CHECK(has(drawn, "Staleness 0: 50 %; median 0, mean 0.7, largest 2."));
  CHECK(has(drawn, "A &amp; B"));
  CHECK_FALSE(has(drawn, "≥"));
}

TEST_CASE("rare large staleness is folded into the last bar, never dropped") {
  std::vector<std::int64_t> counts(256, 0);
  counts[0] = counts[1] = 1000;
  counts[200] = 3;
  const std::string tail = draw_staleness("s", "A", 0, counts).html();
  CHECK(has(tail, "largest 200."));
  CHECK(has(tail, "≥ 5"));
  counts[255] = 1;
  CHECK(has(draw_staleness("s", "A", 0, counts).html(), "largest 255 or more."));
}

TEST_CASE("a timeline draws what lies within its time and says how it was spent") {
  const TimelineData timeline =
      timeline_of({{{SpanKind::compute, 0, 3}, {SpanKind::exchange, 1, 1}},
                   {{SpanKind::compute, 0, 1}, {SpanKind::wait, 1, 3}, {SpanKind::compute, 3, 4}}});
  const double end = timeline_end({timeline});
  CHECK(end == 3);
  const std::string html = draw_timeline(timeline, 2, end).html();
  CHECK(has(html, "data-timeline=\"2\""));
  CHECK(has(html, "Computing 67 % of the time, waiting 33 %."));
  for (const char* kind : {"span-compute", "span-wait", "span-exchange"})
    CHECK(count_of(html, kind) == 1);
  CHECK(count_of(html, "simulated s") == 1);
  CHECK(timeline_end({}) == 0);
}

TEST_CASE("of many workers the slowest has a row") {
  std::vector<std::vector<Span>> workers(40,
                                         {{SpanKind::compute, 0, 1}, {SpanKind::compute, 1, 2}});
  workers[33] = {{SpanKind::compute, 0, 9}};
  const std::string html = draw_timeline(timeline_of(workers), 0, 2).html();
  CHECK(has(html, ">33</text>"));
  CHECK(has(html, "16 of 40 workers, the slowest among them."));
}

// A page of many settings: overview first, details packed.
#include <cmath>
#include <regex>
#include <set>

#include "reports/html/page_script.hpp"
#include "reports/html/sections.hpp"
#include "reports/text_table.hpp"
#include "tests/catch.hpp"
#include "tests/reports/synthetic.hpp"

using namespace acid;
using synthetic::count_of;
using synthetic::has;
using synthetic::page_of;

namespace {

/// The numbers that follow each occurrence of these words.
std::vector<double> numbers_after(const std::string& text, const std::string& before) {
  std::vector<double> found;
  for (std::size_t at = 0; (at = text.find(before, at)) != std::string::npos; at += before.size())
    found.push_back(std::stod(text.substr(at + before.size())));
  return found;
}

/// Five learning rates, of which the last collapses.
ReportData swept(int seeds) {
  const synthetic::Filled made(
      {.workers = {4}, .seeds = seeds, .samples = 12, .learning_rates = {0.1, 0.2, 0.4, 0.8, 1.6}});
  return read_report(made.store, made.ids);
}

}  // namespace

TEST_CASE("an overview has a row for each setting, and arrows for one that collapses") {
  const ReportData data = swept(7);
  const std::string html = draw_overview(data).html();
  CHECK(count_of(html, "class=\"row\"") == 5);
  // Two differences at each of five settings hold at once, and the data's columns say so.
  CHECK(has(html, " at once</text>"));
  CHECK(has(draw_overview(data).csv, ",difference,simultaneous_ci_low,simultaneous_ci_high\n"));
  CHECK(has(html, ">learning_rate</text>"));
  CHECK(has(html, "<title>optimizer.learning_rate = 1.6: AR-SGD 0.3"));
  // Three algorithms at this setting are beyond the edge, and their range is beside them.
  CHECK(count_of(html, "class=\"mark\"") == 3);
  CHECK(count_of(html, "class=\"mark s0\"") == 5);  // one in each row, and the legend's
  CHECK(draw_overview(one_setting(data, 0)).html().find("class=\"mark\"") == std::string::npos);
  // What lies beyond the scale is named where nothing is drawn.
  const std::size_t words = html.find(" to 0.3");
  REQUIRE(words != std::string::npos);
  const std::string text = html.substr(html.rfind("<text x=\"", words), 200);
  const double end = std::stod(text.substr(9));
  CHECK(has(text.substr(0, text.find('>')), "text-anchor=\"end\""));
  const std::string row = html.substr(html.rfind("<a href", words), html.find("</a>", words));
  for (const double x :
       numbers_after(row.substr(0, row.find("</a>")), "<path class=\"mark\" d=\"M"))
    CHECK(x >= end + 6);  // an arrow is six wide
}

TEST_CASE("an overview has no mean where a run missed the target") {
  std::vector<ComparedRun> runs;
  for (const double rate : {0.1, 0.2})
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
      const auto way = static_cast<double>(100 + seed);
      const nlohmann::json settings{
          {"optimizer", {{"learning_rate", rate}}},
          {"budget", {{"target", {{"metric", "eval_loss"}, {"value", 0.5}}}}}};
      const bool missed = rate < 0.15 && seed == 8;
      const std::map<std::string, double> reached{{"gradients_to_target", way}, {"eval_loss", 0.4}};
      runs.push_back(synthetic::run("ar-sgd", seed, reached, settings));
      runs.push_back(synthetic::run(
          "ad-psgd", seed, missed ? std::map<std::string, double>{{"eval_loss", 9}} : reached,
          settings));
    }
  ReportData data = page_of(compare_runs(runs));
  data.comparison.primary = "gradients_to_target";
  const PageFigure figure = draw_overview(data);
  CHECK(has(figure.csv, "\n0.1,ar-sgd,8,104.5,"));
  CHECK(has(figure.csv, "\n0.1,ad-psgd,0,,,,"));
  CHECK(has(figure.csv, "\n0.2,ad-psgd,8,104.5,"));
  CHECK(has(figure.below, "none where one of them missed the target"));
}

TEST_CASE("verdicts over many settings are counted") {
  const auto overview_of = [](std::uint64_t seeds) {
    std::vector<ComparedRun> runs;
    for (const double rate : {0.1, 0.2, 0.3, 0.4, 0.5})
      for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        const double luck = 0.001 * static_cast<double>(seed * seed % 7);
        const nlohmann::json settings{{"optimizer", {{"learning_rate", rate}}}};
        runs.push_back(synthetic::run("ar-sgd", seed, {{"eval_loss", 1 + luck}}, settings));
        runs.push_back(
            synthetic::run("ad-psgd", seed, {{"eval_loss", rate < 0.45 ? 2 : 1 - luck}}, settings));
      }
    return overview_section(page_of(compare_runs(runs)));
  };
  CHECK(has(overview_of(10), "<strong>ad-psgd</strong> against the baseline: "));
  CHECK(has(overview_of(10), "worse at 4"));
  CHECK(has(overview_of(2), "No verdict: 2 seeds are too few."));
}

TEST_CASE("one setting has its own groups, runs and differences, adjusted over all") {
  ReportData data = swept(3);
  const ReportData one = one_setting(data, 4);
  REQUIRE(one.comparison.groups.size() == 3);
  CHECK(one.comparison.groups[1].group == data.comparison.groups[13].group);
  CHECK(one.curves.size() == 3);
  CHECK(one.styles == std::vector<int>(data.styles.begin() + 12, data.styles.end()));
  CHECK(one.runs.size() == 9);
  CHECK(one.comparison.points.front().baseline == 0u);
  std::set<std::string> groups;
  for (const ComparedDifference& difference : one.comparison.differences) {
    groups.insert(difference.group);
    if (difference.metric == one.comparison.primary) CHECK(difference.family == 30);
  }
  CHECK(groups.size() == 2);
  // Runs that are computed once for several settings are in each.
  for (ComparedGroup& group : data.comparison.groups)  // as form_groups() tells them apart
    if (group.algorithm == "ar-sgd") group.group += " at its graph";
  CHECK(one_setting(data, 4).runs.size() == 9);
}

TEST_CASE("a page of more than four settings holds each one's details packed") {
  const ReportData data = swept(1);
  REQUIRE(is_sweep(data) == !page_script().script.empty());
  const std::string html = setting_section(data);
  CHECK(count_of(html, "data-setting=\"") == 5);
  CHECK(has(html, R"({"keys":["optimizer.learning_rate"],"values":[["0.1"],["0.2"])"));
  CHECK_FALSE(has(html, "<svg"));
  const std::string packed = packed_details("more", "body");
  CHECK(has(packed, "<details>\n<summary>more</summary>"));
  CHECK_FALSE(has(packed, "body"));
  if (!is_sweep(data)) return;
  int folds = 0;
  for (const DrawnSection& section : sections_of(data, PagePart::sweep)) {
    INFO(section.anchor);
    CHECK(count_of(section.html, "<section ") == 1);
    CHECK(section.html.ends_with("</section>\n"));
    if (!has(section.html, "</h2>\n<details>\n<summary>")) continue;
    CHECK(section.html.ends_with("</details>\n</section>\n"));
    ++folds;
  }
  CHECK(folds > 0);
}

namespace {

/// Settings × two algorithms whose differences are 0 at most settings and small at the others.
ReportData mostly_equal(const std::string& key, double factor = 1) {
  std::vector<ComparedRun> runs;
  for (int setting = 0; setting < 12; ++setting)
    for (const char* algorithm : {"ar-sgd", "ad-psgd"})
      for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        const double apart = setting < 4 ? factor * 0.005 * (1 + setting) : 0;
        nlohmann::json settings;
        settings["execution"][key] = setting;
        settings["optimizer"]["learning_rate_of_a_long_name"] = 0.1 * setting;
        settings["task"]["another_setting_of_a_long_name"] = 0.1 * setting;
        settings["workers"]["a_setting_with_a_long_name_too"] = 0.1 * setting;
        settings["topology"]["the_last_setting_with_a_long_name"] = 0.1 * setting;
        runs.push_back(synthetic::run(algorithm, seed,
                                      {{"eval_accuracy", 0.8 + (algorithm[1] == 'd' ? apart : 0)}},
                                      settings));
      }
  ReportData data = page_of(compare_runs(runs));
  for (std::size_t g = 0; g < data.styles.size(); ++g) data.styles[g] = static_cast<int>(g % 2);
  return data;
}

}  // namespace

TEST_CASE("where most settings are equal the overview shows how far the others are") {
  const std::string html = draw_overview(mostly_equal("short")).html();
  CHECK_FALSE(has(html, "class=\"mark\""));  // no arrows: all within the scale
  CHECK(has(html, ">0.02</text>"));
}

TEST_CASE("the numbers above an overview's plots are whole") {
  for (int k = 0; k < 40; ++k) {
    const std::string html = draw_overview(mostly_equal("short", std::pow(10, -0.15 * k))).html();
    const double width = numbers_after(html, "viewBox=\"0 0 ").front();
    const std::regex tick("<text x=\"([0-9.]+)\" y=\"[0-9.]+\" text-anchor=\"middle\">([^<]+)<");
    for (std::sregex_iterator found(html.begin(), html.end(), tick), end; found != end; ++found)
      CHECK(std::stod((*found)[1]) + 3.1 * terminal_columns((*found)[2].str()) <= width);
  }
}

TEST_CASE("an overview of many keys is wider, and its titles keep to their plots") {
  const std::string html = draw_overview(mostly_equal("a_key_that_is_as_long_as_this_one")).html();
  CHECK(has(html, "class=\"line overview wide\""));
  CHECK(has(html, ">difference to the</text>"));
  const double width = numbers_after(html, "viewBox=\"0 0 ").front();
  for (const double x : numbers_after(html, "<text x=\"")) CHECK(x < width);
}

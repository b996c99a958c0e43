#include "reports/html/sections.hpp"

#include <fmt/format.h>

#include <regex>
#include <set>

#include "engine/base/digest.hpp"
#include "reports/html/timeline.hpp"
#include "reports/verdict.hpp"
#include "tests/catch.hpp"
#include "tests/reports/synthetic.hpp"

using namespace acid;
using synthetic::has;
using synthetic::run;

namespace {

/// The data of a page of a made-up experiment.
struct Report : synthetic::Filled {
  explicit Report(const synthetic::Shape& shape = small())
      : Filled(shape), data(read_report(store, ids)) {}

  static synthetic::Shape small() { return {.workers = {4}, .samples = 10}; }
  ReportData data;
};

Headline headline_of(const std::vector<double>& first, const std::vector<double>& second) {
  std::vector<ComparedRun> runs;
  for (std::size_t k = 0; k < first.size(); ++k)
    runs.push_back(run("ar-sgd", k + 1, {{"eval_accuracy", first[k]}}));
  for (std::size_t k = 0; k < second.size(); ++k)
    runs.push_back(run("ad-psgd", k + 1, {{"eval_accuracy", second[k]}}));
  const Comparison comparison = compare_runs(runs);
  return headline(comparison, comparison.points.front());
}

}  // namespace

TEST_CASE("the verdict begins with what the tests show, and nothing else") {
  const std::vector<double> low{0.5, 0.6, 0.55, 0.52, 0.58, 0.54, 0.57};
  std::vector<double> high, mixed;
  for (std::size_t k = 0; k < low.size(); ++k) {
    high.push_back(low[k] + 0.2);
    mixed.push_back(low[k] + (k % 2 == 0 ? 0.1 : -0.1));
  }
  CHECK(headline_of(low, high).result == "Better than ar-sgd in evaluation accuracy: ad-psgd.");
  CHECK(headline_of(high, low).result == "Worse than ar-sgd in evaluation accuracy: ad-psgd.");
  const char* const open = "No difference in evaluation accuracy to ar-sgd was shown.";
  CHECK(headline_of(low, mixed).result == open);
  CHECK(headline_of(low, mixed).rest.empty());
  CHECK(headline_of({0.5, 0.6, 0.55}, {0.7, 0.81, 0.74}).result == open);
  CHECK(headline_of({0.5, 0.6, 0.55}, {0.7, 0.81, 0.74}).rest == "Too few seeds to show one.");
  CHECK(headline_of({0.5}, {0.6}).rest == "Too few seeds to show one.");
  CHECK(has(headline_of({0.5, 0.5}, {0.5, 0.5}).result, "All had the same"));
  CHECK(headline_of({}, {0.5}).result.empty());
}

TEST_CASE("without gradients the verdict is about agreement") {
  std::vector<ComparedRun> runs;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const double luck = static_cast<double>(seed);
    runs.push_back(run("ad-psgd", seed, {{"eval_loss", 0}, {"consensus_distance_mid", 4 * luck}}));
    runs.push_back(run("a2cid2", seed, {{"eval_loss", 0}, {"consensus_distance_mid", luck}}));
  }
  for (ComparedRun& one : runs) one.summary.budget_time = 40;
  const Comparison comparison = compare_runs(runs);
  CHECK(comparison.primary == "consensus_distance_mid");
  CHECK(headline(comparison, comparison.points.front()).result ==
        "Better than ad-psgd in mid-run consensus distance: a2cid2.");
}

TEST_CASE("too few seeds are said once, and a test's p stands in the table") {
  synthetic::Shape shape = Report::small();
  shape.workers = {4, 8};
  const Report few(shape);
  const std::string html = verdict_section(few.data);
  CHECK(has(html, "<strong>No verdict: 3 seeds are too few.</strong>"));
  CHECK(html.find("too few") == html.rfind("too few.</strong>"));
  CHECK_FALSE(has(html, "<li>No difference"));
  CHECK(has(html, "against the baseline"));
  shape.seeds = 10;  // eight claims: at equal gradients and bytes
  const std::string many = verdict_section(Report(shape).data);
  CHECK_FALSE(has(many, "No verdict"));
  CHECK(has(many, "Worse than AR-SGD in evaluation accuracy"));
  CHECK(has(many, "worse, p = 0.0"));
}

TEST_CASE("the page says of every group how many of its runs diverged") {
  Report report;
  for (std::uint64_t seed : {7, 8, 9, 10, 11, 12, 13})
    report.data.comparison.groups[1].diverged.push_back(seed);
  CHECK(has(verdict_section(report.data), "<small>7 of 10 diverged</small>"));
  CHECK(has(curves_section(report.data), "(7 of 10 diverged)"));
  report.data.runs[0].summary.state = RunState::diverged;
  CHECK(has(checklist_section(report.data), "1 diverged: worse than every finished run"));
}

TEST_CASE("below pictures a sweep point has short keys, and only those that are set") {
  ComparedPoint point;
  point.settings = {{"execution.virtual.slow_workers", nullptr},
                    {"execution.virtual.slow_workers.0", 10},
                    {"workers.count", 4}};
  CHECK(brief_title(point) == "slow_workers.0 = 10, workers.count = 4");
  point.settings.resize(1);
  CHECK(brief_title(point) == "execution.virtual.slow_workers = –");
}

TEST_CASE("the time section shows runtime, timelines and staleness") {
  const Report report;
  const std::string html = time_section(report.data);
  CHECK(has(html, "Time per gradient of a worker"));
  CHECK(has(html, "data-timeline=\"0\""));
  CHECK(has(html, "data-timeline=\"2\""));
  CHECK(has(html, "No gradient was stale"));
  CHECK(has(html, "staleness, updates"));
  const std::vector<TimelineData> drawn = timelines(report.data);
  REQUIRE(drawn.size() == 3);
  CHECK(drawn[0].label == "AR-SGD");
  CHECK(drawn[0].unit == "simulated s");
  CHECK(drawn[0].rows.size() == 4);
}

TEST_CASE("old runs without spans and staleness have no empty pictures") {
  Report report;
  for (auto& spans : report.data.spans) spans.clear();
  for (RunDetail& run : report.data.runs) {
    run.result->staleness.clear();
    run.result->worker_idle_seconds.clear();
  }
  const std::string html = time_section(report.data);
  CHECK_FALSE(has(html, "data-timeline"));
  CHECK_FALSE(has(html, "Staleness"));
  CHECK_FALSE(has(html, "% waiting"));
  for (RunDetail& run : report.data.runs) run.result->position.seconds = 0;
  CHECK(time_section(report.data).empty());
}

TEST_CASE("every table of a page has a name of its own") {
  const Report report;
  std::string html;
  for (const auto section :
       {verdict_section, time_section, network_section, holdings_section, seeds_section,
        settings_section, environment_section, checklist_section, reproduce_section})
    html += section(report.data);
  std::set<std::string> names;
  const std::regex name("data-csv=\"([a-z0-9-]+)\"");
  for (std::sregex_iterator it(html.begin(), html.end(), name), end; it != end; ++it) {
    INFO((*it)[1]);
    CHECK(names.insert((*it)[1]).second);
  }
  for (const char* wanted : {"verdict", "spread", "runs", "runtime", "network", "checklist",
                             "settings-common", "environment", "digests", "data-files"})
    CHECK(names.count(wanted) == 1);
  CHECK_FALSE(has(html, "<table>"));
}

TEST_CASE("the table of runs has every metric with all its digits") {
  const Report report;
  const std::string html = seeds_section(report.data);
  for (const char* head : {"eval accuracy", "consensus distance", "gradients per second"})
    CHECK(has(html, head));
  const double loss = report.data.runs.front().summary.metrics.at("eval_loss");
  CHECK(has(html, fmt::format("data-value=\"{}\"", loss)));
}

TEST_CASE("verifications are shown, and one that failed is a warning") {
  Report report;
  CHECK(has(reproduce_section(report.data), "not verified"));
  CHECK(has(checklist_section(report.data), "0 of 9 finished runs were executed again"));
  Verification verification;
  verification.equal = true;
  verification.message = "all digests";
  report.store.add_verification(report.ids[0], verification);
  verification.equal = false;
  verification.message = "worker 2 <differs>";
  report.store.add_verification(report.ids[1], verification);
  report.data = read_report(report.store, report.ids);
  const std::string html = reproduce_section(report.data);
  CHECK(has(html, "verified bit for bit on "));
  CHECK(has(html, ": worker 2 &lt;differs&gt;"));
  CHECK(has(seeds_section(report.data), "✗ differs"));
  CHECK(has(checklist_section(report.data), "1 did not."));
  CHECK(has(verdict_section(report.data), "did not give the same bits when it was verified"));
}

TEST_CASE("the checklist answers from the store and says what it cannot know") {
  Report report;
  const std::string html = checklist_section(report.data);
  CHECK(has(html, "3 runs with an outcome per algorithm and setting; seeds 1, 2, 3; 9 in all."));
  CHECK(has(html, "Every run has an outcome."));
  CHECK(has(html, "SHA-256 of 1 file under"));
  CHECK(has(html, "Not in the store: say it in the paper."));
  for (RunDetail& run : report.data.runs)
    for (AttemptRow& attempt : run.attempts) {
      attempt.environment = {{"git_commit", "abc"}, {"git_dirty", true},  {"git_diff_sha256", "77"},
                             {"acid_version", "1"}, {"cpu_model", "Z80"}, {"cores", 2}};
      attempt.wall_seconds = 2;
    }
  report.data.runs[0].attempts[0].outcome = "interrupted";
  const std::string dirty = checklist_section(report.data);
  CHECK(has(dirty, "built from a changed working tree, SHA-256 of the changes 77."));
  CHECK(has(dirty, "Z80; 2 cores"));
  CHECK(has(dirty, "18 s in all, of which 2 s in attempts that did not finish"));
}

TEST_CASE("the commands to reproduce name the recipe, a run and the page") {
  Report report;
  const std::string html = reproduce_section(report.data);
  CHECK(has(html, "acid resume"));
  CHECK(has(html, "acid verify " + report.ids[0]));
  CHECK(has(html, "acid report " + report.data.experiments.at(0).id + " --html"));
  report.data.experiments.clear();
  CHECK(has(reproduce_section(report.data), "compiles to other runs now"));
}

TEST_CASE("the commands to reproduce name every recipe, and a selection of its runs") {
  Report report;
  ExperimentRecord other;
  other.name = "other";
  other.recipe_path = "other.toml";
  other.recipe_text = "name = \"other\"";
  other.recipe_digest = sha256_hex(other.recipe_text);
  other.id = other.recipe_digest.substr(0, 12);
  const RunRecord planned = synthetic::another_seed(report.data.runs.at(0), 77);
  report.store.add_experiment(other, {planned});
  const std::string first = report.data.experiments.at(0).id;
  AskedRuns both = report.ids;
  both.ids.push_back(planned.id);
  both.experiments = {first, other.id};
  std::string html = reproduce_section(read_report(report.store, both));
  CHECK(has(html, "\nacid run other.toml\n"));
  CHECK(has(html, "<summary>Recipe of other</summary>"));
  CHECK(has(html, fmt::format("acid report {} {} --html", first, other.id)));
  // A part of an experiment is named by its condition, or by its runs.
  const std::vector<std::string> where{"seed = 1"};
  const AskedRuns part = runs_where(report.store, report.ids, where);
  ReportOptions options;
  options.where = where;
  html = reproduce_section(read_report(report.store, part, options));
  CHECK(has(html, "acid report " + first + " --where "));
  CHECK(has(html, "and others of the same recipes"));
  html = reproduce_section(read_report(report.store, part));
  CHECK(has(html, "acid report " + part.ids.front() + " "));
}

TEST_CASE("many sweep points fold their figures, and keep all of them") {
  synthetic::Shape shape = Report::small();
  shape.workers = {2, 3, 4, 5, 6};
  shape.seeds = 1;
  const Report report(shape);
  const std::string html = time_section(report.data);
  CHECK(has(html, "Timelines of 4 more settings"));
  CHECK(has(html, "data-timeline=\"14\""));
}

TEST_CASE("who holds what is drawn once for all algorithms, and not where all hold the same") {
  synthetic::Shape shape = Report::small();
  shape.alphas = {0.1, 1};
  Report report(shape);
  std::string html = holdings_section(report.data);
  CHECK(has(html, "glyphs, dirichlet alpha 0.1, 4 workers, seed 1"));
  CHECK(has(html, "glyphs, dirichlet alpha 1, 4 workers, seed 1"));
  CHECK(std::regex_replace(html, std::regex("[^]*?<svg "), "#").rfind('#') == 1);
  CHECK(has(html, "A worker holds 100 examples, of 1 to 2 of the 2 classes."));

  for (RunDetail& run : report.data.runs) run.holdings.assign(4, {50, 50});
  CHECK(holdings_section(report.data).empty());
  for (RunDetail& run : report.data.runs) run.holdings = {{10}, {20}, {30}, {40}};
  CHECK(has(holdings_section(report.data), "Examples: glyphs, dirichlet"));
  for (RunDetail& run : report.data.runs) {
    run.holdings.assign(65, {50, 50});
    run.holdings[7] = {1, 1};
  }
  CHECK(has(holdings_section(report.data), "A worker holds 2 to 100 examples, the median 100."));
  for (RunDetail& run : report.data.runs) run.holdings.clear();
  CHECK(holdings_section(report.data).empty());
}

TEST_CASE("texts from recipes stay text in every section") {
  Report report;
  const std::string evil = "\"><script>alert(1)</script>' \xE2\x80\xAE" + std::string(5000, 'x');
  for (ComparedGroup& group : report.data.comparison.groups) {
    group.label = evil;
    group.settings["note"] = evil;
  }
  ExperimentRecord& experiment = report.data.experiments.at(0);
  experiment.name = experiment.recipe_path = evil;
  for (RunDetail& run : report.data.runs) {
    run.summary.message = evil;
    run.summary.state = RunState::failed;
    run.attempts.front().environment["host"] = evil;
    run.file_digests.emplace_back(evil, "00");
  }
  for (const auto section :
       {verdict_section, time_section, network_section, seeds_section, settings_section,
        environment_section, checklist_section, reproduce_section}) {
    const std::string html = section(report.data);
    CHECK_FALSE(has(html, "<script"));
  }
}

#include <cmath>
#include <limits>

#include "reports/compare.hpp"
#include "reports/text_table.hpp"
#include "tests/catch.hpp"
#include "tests/reports/synthetic.hpp"

using namespace acid;
using synthetic::count_of;
using synthetic::has;
using synthetic::run;
using synthetic::widest_line;

namespace {

Comparison sample(std::uint64_t seeds) {
  std::vector<ComparedRun> runs;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const double noise = 0.001 * static_cast<double>(seed * seed % 5);
    for (const char* algorithm : {"ar-sgd", "ad-psgd", "a2cid2"}) {
      const double gap = algorithm[1] == 'r' ? 0 : algorithm[1] == 'd' ? 3.2e-5 : 0.8e-5;
      ComparedRun one = run(algorithm, seed,
                            {{"eval_accuracy", 0.91 + noise},
                             {"eval_loss", 0.3 - noise},
                             {"train_loss_at_mean", 123456.789 * (1 + noise)},
                             {"consensus_distance", gap},
                             {"consensus_distance_mid", gap * (1 + noise)},
                             {"gradients", 2e4},
                             {"seconds", 1234.5},
                             {"bytes", 1.6e10},
                             {"gradients_per_second", 16.2}});
      one.summary.label = algorithm[1] == '2' ? "A²CiD², lr 0.1, | a long \"label\"" : algorithm;
      runs.push_back(one);
    }
  }
  return compare_runs(runs);
}

}  // namespace

TEST_CASE("the text fits a terminal of 80 columns, with and without intervals") {
  for (const std::uint64_t seeds : {1, 2, 5, 10}) {
    const std::string text = to_text(sample(seeds), false);
    INFO(text);
    CHECK(widest_line(text) <= 80);
    CHECK_FALSE(has(text, " \n"));
  }
}

TEST_CASE("the text shows estimates, paired differences, p and notes, and colour only if asked") {
  const std::string text = to_text(sample(3), false);
  CHECK(has(text, "higher is better"));
  CHECK(has(text, "baseline"));
  CHECK(has(text, "0.9130 ± 0.0043"));
  CHECK(has(text, "note: n = 3 is too small"));
  CHECK_FALSE(has(text, "\x1b"));
  CHECK(has(to_text(sample(3), true), "\x1b[1m"));
  CHECK(has(to_text(sample(1), false), "± n/a"));
}

namespace {

/// A sweep over three settings, compared by one of them.
Comparison wide(const std::string& long_key) {
  std::vector<ComparedRun> runs;
  for (const int workers : {4, 16})
    for (const double rate : {0.05, 0.1})
      for (const char* topology : {"ring", "complete"})
        for (const char* algorithm : {"ar-sgd", "a2cid2"})
          for (const std::uint64_t seed : {1, 2, 3})
            runs.push_back(run(algorithm, seed,
                               {{"eval_loss", rate + 0.001 * static_cast<double>(seed * workers)},
                                {"consensus_distance", rate},
                                {"gradients", 2e4},
                                {"bytes", 1.6e10}},
                               {{"workers", {{"count", workers}}},
                                {"optimizer", {{long_key, rate}}},
                                {"topology", {{"kind", topology}}}}));
  CompareOptions options;
  options.by = {"topology.kind"};
  return compare_runs(runs, options);
}

}  // namespace

TEST_CASE("with --by the other settings are columns, or headings where they do not fit") {
  const std::string columns = to_text(wide("learning_rate"), false);
  CHECK(widest_line(columns) <= 80);
  CHECK(has(columns, "topology.kind = complete\n"));
  CHECK(has(columns, "      optimizer  workers\n"));
  CHECK(has(columns, "  learning_rate    count  n"));
  CHECK(has(columns, "           0.05       16  3"));
  const std::string headings = to_text(wide("a_setting_with_a_name_as_long_as_this_one"), false);
  CHECK(widest_line(headings) <= 80);
  CHECK(has(headings,
            "  optimizer.a_setting_with_a_name_as_long_as_this_one = 0.05, "
            "workers.count = 16\n"));
}

TEST_CASE("with --by Markdown, LaTeX and CSV have the other settings as columns") {
  const Comparison comparison = wide("learning_rate");
  CHECK(
      has(to_markdown(comparison), "| algorithm | optimizer.learning_rate | workers.count | n |"));
  CHECK(has(to_markdown(comparison),
            "| algorithm | optimizer.learning_rate | workers.count | metric | n |"));
  CHECK(has(to_latex(comparison), "Algorithm & optimizer.learning\\_rate & workers.count & $n$"));
  CHECK(to_csv(comparison)
            .rfind("group,algorithm,label,topology.kind,optimizer.learning_rate,"
                   "workers.count,metric,",
                   0) == 0);
}

TEST_CASE("from eight seeds on the text has the interquartile mean and the chance to be better") {
  CHECK_FALSE(has(to_text(sample(7), false), "IQM"));
  const std::string text = to_text(sample(8), false);
  INFO(text);
  CHECK(has(text, "IQM"));
  CHECK(has(text, "P(better)"));
  const nlohmann::json difference = to_json(sample(8))["differences"][0];
  CHECK(difference["improvement_ci_low"].is_number());
  CHECK(difference["improvement_ci_high"].get<double>() > 0.5);
}

TEST_CASE("JSON has the documented keys, and null where there is no interval") {
  const nlohmann::json document = to_json(sample(3));
  CHECK(document["schema_version"] == 1);
  CHECK(document["baseline"] == "ar-sgd");
  const auto& group = document["groups"][1];
  CHECK(group["algorithm"] == "ad-psgd");
  CHECK(group["n"] == 3);
  CHECK(group["settings"]["algorithm"]["kind"] == "ad-psgd");
  CHECK(group["seeds"] == nlohmann::json({1, 2, 3}));
  for (const char* key : {"mean", "sd", "se", "ci_low", "ci_high"})
    CHECK(group["metrics"]["eval_loss"][key].is_number());
  const auto& difference = document["differences"][0];
  for (const char* key : {"mean", "ci_low", "ci_high", "p", "p_holm"})
    CHECK(difference[key].is_number());
  CHECK(difference["metric"] == "eval_accuracy");
  CHECK(document["ratios"][0]["mean"].get<double>() == Approx(0.25));

  CHECK(difference["improvement"] == 0.5);
  CHECK(group["metrics"]["eval_loss"]["median"].is_number());
  CHECK(group["metrics"]["eval_loss"]["iqm"].is_null());
  CHECK(to_json(sample(8))["groups"][1]["metrics"]["eval_loss"]["iqm_ci_low"].is_number());

  const nlohmann::json one = to_json(sample(1));
  CHECK(one["groups"][0]["metrics"]["eval_loss"]["ci_low"].is_null());
  CHECK(one["differences"][0]["p"].is_null());
}

TEST_CASE("values that are not finite are null in JSON and named in CSV and text") {
  const double inf = std::numeric_limits<double>::infinity();
  const Comparison comparison = compare_runs(
      {run("ar-sgd", 1, {{"eval_loss", 1}}), run("ar-sgd", 2, {{"eval_loss", inf}}),
       run("ad-psgd", 1, {{"eval_loss", std::nan("")}}), run("ad-psgd", 2, {{"eval_loss", 1}})});
  const nlohmann::json document = to_json(comparison);
  CHECK(document["groups"][0]["metrics"]["eval_loss"]["mean"].is_null());
  CHECK(document["differences"][0]["p"].is_null());
  CHECK(nlohmann::json::parse(document.dump()) == document);
  CHECK(has(to_csv(comparison), ",inf,"));
  CHECK(has(to_text(comparison, false), "nan"));
}

TEST_CASE("CSV has one line per group and metric and quotes what needs it") {
  const Comparison comparison = sample(3);
  const std::string csv = to_csv(comparison);
  CHECK(csv.rfind("group,algorithm,label,metric,n,mean,sd,se,ci_low,ci_high,baseline,difference,"
                  "difference_ci_low,difference_ci_high,p,p_holm,improvement,median,iqm,iqm_ci_low,"
                  "iqm_ci_high,difference_n,improvement_ci_low,improvement_ci_high,censored,"
                  "diverged,difference_diverged,baseline_diverged,simultaneous_ci_low,simultaneous_"
                  "ci_high,test,"
                  "family,verdict,reached,samples_apart,resolution,selected_by,selection_"
                  "values,selection_runs,selection_edges,selection_gradients,selection_rungs,"
                  "rounding,margin,p_equivalence,p_equivalence_"
                  "holm,seeds_to_show_equivalent,notes,seeds_to_show,target\n",
                  0) == 0);
  CHECK(std::count(csv.begin(), csv.end(), '\n') == 1 + 3 * 9);
  CHECK(has(csv, "\"A²CiD², lr 0.1, | a long \"\"label\"\"\""));
}

TEST_CASE("CSV has a column per varying setting") {
  std::vector<ComparedRun> runs;
  for (const int workers : {4, 8})
    runs.push_back(run("ar-sgd", 1, {{"eval_loss", 1}}, {{"workers", {{"count", workers}}}}));
  const std::string csv = to_csv(compare_runs(runs));
  CHECK(has(csv, "label,workers.count,metric"));
  CHECK(has(csv, ",ar-sgd,8,eval_loss,1,1,"));
}

TEST_CASE("CSV has all digits of settings, and nothing where there is none") {
  std::vector<ComparedRun> runs;
  for (const nlohmann::json& rate :
       {nlohmann::json(0.12345678), nlohmann::json(0.12345679), nlohmann::json()})
    runs.push_back(run("ar-sgd", 1, {{"eval_loss", 1}},
                       {{"optimizer", {{"learning_rate", rate}, {"momentum", 0.5}}},
                        {"list", {0.12345678, rate}}}));
  const Comparison comparison = compare_runs(runs);
  const std::string csv = to_csv(comparison);
  CHECK(has(csv, ",0.12345678,eval_loss,"));
  CHECK(has(csv, ",0.12345679,eval_loss,"));
  CHECK(has(csv, "\"[0.12345678, 0.12345679]\""));
  CHECK(has(csv, ",,eval_loss,"));
  CHECK(has(to_text(comparison, false), "0.123457"));
}

TEST_CASE("Markdown escapes the bars of labels") {
  const std::string markdown = to_markdown(sample(3));
  CHECK(has(markdown, "lr 0.1, \\| a long"));
  CHECK(has(markdown, "| ar-sgd | 3 |"));
  CHECK(has(markdown, "Paired differences to ar-sgd"));
}

TEST_CASE("the LaTeX table has a row for every group, and what is special there is escaped") {
  Comparison comparison = sample(3);
  comparison.groups[0].label = "50 % of #1_a & {b} \\ ~^$";
  comparison.notes.push_back({NoteKind::chosen, "one\n\\input{two} --three"});
  const std::string text = to_latex(comparison);
  INFO(text);
  CHECK(has(text, "\none \\textbackslash{}input\\{two\\} -{}-three.\n"));
  CHECK(has(text,
            "50 \\% of \\#1\\_a \\& \\{b\\} \\textbackslash{} \\textasciitilde{}"
            "\\textasciicircum{}\\$ & 3 &"));
  CHECK(has(text, "0.9130 $\\pm$ 0.0043"));
  CHECK(has(text, "& Test accuracy &"));
  const std::string differences = text.substr(text.find("% differences to"));
  const std::string values = text.substr(0, text.size() - differences.size());
  // Each tabular has all rows and a head.
  CHECK(count_of(values, " \\\\\n") == 4 * count_of(values, "\\begin{tabular}"));
  // Differences of two groups in nine metrics; consensus distances have only one of them.
  CHECK(count_of(differences, " \\\\\n") ==
        (1 + 2 * 9 - 2) * count_of(differences, "\\begin{tabular}"));
}

TEST_CASE("text takes the terminal's width, and a file's tables are whole") {
  std::vector<ComparedRun> runs;
  const std::string label = "a method with a label of more than forty-five letters";
  for (std::uint64_t seed = 1; seed <= 8; ++seed)
    for (const char* algorithm : {"ar-sgd", "ad-psgd"}) {
      runs.push_back(run(
          algorithm, seed,
          {{"eval_loss", 0.3 + 0.01 * static_cast<double>(seed)}, {"consensus_distance", 0.1}}));
      if (algorithm[1] == 'd') runs.back().summary.label = label;
    }
  const Comparison comparison = compare_runs(runs, {.baseline_must_be_there = true});
  const std::string narrow = to_text(comparison, false);
  CHECK(has(narrow, "…"));
  const std::string wide = to_text(comparison, false, {.columns = 140});
  CHECK_FALSE(has(wide, "…"));
  CHECK(has(wide, "  " + label + "  8  "));
  CHECK(has(wide, "P(better)"));
  CHECK(widest_line(wide) <= 140);
  const std::string file = to_text(comparison, false, {.columns = 80, .cut = false});
  CHECK_FALSE(has(file, "…"));
  CHECK(has(file, "  " + label + "  8  "));
}

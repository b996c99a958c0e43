// LaTeX tables that fit a page.
#include <algorithm>
#include <sstream>

#include "reports/latex.hpp"
#include "reports/pivot.hpp"
#include "tests/catch.hpp"
#include "tests/reports/synthetic.hpp"

using namespace acid;
using synthetic::has;

namespace {

/// Points that each tabular of a text takes in 10 pt Computer Modern: columns six points apart of
/// their own text, or three in small type, of which a digit takes 4.25 instead of 5 points.
std::vector<double> widths_of_tabulars(const std::string& latex) {
  std::vector<double> widths;
  std::vector<double> columns;
  bool small = false;
  std::istringstream lines(latex);
  for (std::string line; std::getline(lines, line);) {
    if (has(line, "\\footnotesize\\setlength{\\tabcolsep}{3pt}")) small = true;
    if (has(line, "\\begin{tabular}")) columns.clear();
    if (has(line, "\\end{tabular}")) {
      widths.push_back(0);
      for (const double width : columns)
        widths.back() += (small ? 0.85 : 1) * width + (small ? 6 : 12);
    }
    if (line.starts_with('%') || !line.ends_with("\\\\") || has(line, "multicolumn")) continue;
    std::string cell;
    line.resize(line.size() - 3);
    for (std::size_t c = 0, at = 0; at <= line.size(); ++c) {
      const std::size_t end = std::min(line.find(" & ", at), line.size());
      if (columns.size() <= c) columns.push_back(0);
      columns[c] = std::max(columns[c], latex_width(line.substr(at, end - at)));
      at = end + 3;
    }
  }
  return widths;
}

std::vector<ComparedRun> wide_study(const std::vector<std::string>& labels) {
  std::vector<ComparedRun> runs;
  for (const char* graph : {"ring", "exponential"})
    for (const int workers : {8, 16})
      for (const std::string& label : labels)
        for (std::uint64_t seed = 1; seed <= 3; ++seed) {
          const double value = 0.012345 * static_cast<double>(seed);
          runs.push_back(
              synthetic::run(label, seed,
                             {{"eval_loss", value},
                              {"train_loss_at_mean", 2 * value},
                              {"consensus_distance", 1e-6 * value},
                              {"consensus_distance_mid", 1e-6 * value},
                              {"gradients", 6400},
                              {"seconds", 21.2 + value},
                              {"bytes", 3e6},
                              {"gradients_per_second", 301.9}},
                             {{"topology", {{"kind", graph}}}, {"workers", {{"count", workers}}}}));
          runs.back().summary.experiment_name = "made_up";
        }
  return runs;
}

}  // namespace

TEST_CASE("what LaTeX has no letter for is written in its mathematics") {
  CHECK(latex_text("χ₁ ≥ 10⁻³") == "$\\chi$$_1$ $\\geq$ 10$^-$$^3$");
  CHECK(latex_text("Δx → ∞ ≈ 2 µs") == "$\\Delta$x $\\rightarrow$ $\\infty$ $\\approx$ 2 $\\mu$s");
  CHECK(latex_text("x\u0304 α\u0303") == "$\\bar{x}$ $\\tilde{\\alpha}$");
  CHECK(latex_text("größer_é A²CiD²") == "größer\\_é A$^2$CiD$^2$");
  CHECK(latex_text("‖x‖ 5° …") == "$\\|$x$\\|$ 5$^\\circ$ $\\ldots$");
  CHECK(latex_width(latex_text("χ₁")) < latex_width("x11"));
}

TEST_CASE("the width of a cell is that of its letters in Computer Modern") {
  CHECK(latex_width("12.5") == Approx(3 * 5 + 2.78));
  CHECK(latex_width("ring") == Approx(3.92 + 2.78 + 5.56 + 5));
  CHECK(latex_width("1 $\\pm$ 2") == Approx(5 + 3.33 + 7.78 + 3.33 + 5));
  CHECK(latex_width("\\textbf{10}") == Approx(1.15 * 10));
  CHECK(latex_width("a\\_b") == Approx(5 + 3.6 + 5.56));
  CHECK(latex_width("\\shortstack[r]{aa\\\\a}") == Approx(10));
}

TEST_CASE("tables of many columns fit a page: smaller type, then several tabulars") {
  for (const std::size_t algorithms : {2, 4, 6, 12}) {
    std::vector<std::string> labels;
    for (std::size_t k = 0; k < algorithms; ++k) labels.push_back("algorithm " + std::to_string(k));
    const Comparison comparison = compare_runs(wide_study(labels));
    const Pivot pivot = pivot_of(comparison, "eval_loss", {});
    const std::string latex = to_latex(pivot, comparison);
    INFO(latex);
    const std::vector<double> widths = widths_of_tabulars(latex);
    for (const double width : widths) CHECK(width <= 345);
    CHECK((widths.size() > 1) == (algorithms > 4));
    for (const std::string& label : labels) CHECK(has(latex, label));
    CHECK(has(latex, "footnotesize\\setlength") == (algorithms > 2));

    const std::string whole = to_latex(comparison);
    for (const double width : widths_of_tabulars(whole)) CHECK(width <= 345);
    CHECK(has(whole, "\\shortstack[r]{Consensus\\\\distance,\\\\mid-run}"));
  }
}

TEST_CASE("a caption of one's own leaves what the numbers are below the table") {
  const Comparison comparison = compare_runs(wide_study({"ar-sgd", "ad-psgd"}));
  const Pivot pivot = pivot_of(comparison, "eval_loss", {});
  const std::string own = to_latex(pivot, comparison, "Loss at $\\lambda = 2$");
  CHECK(has(own, "\\caption{Loss at $\\lambda = 2$}\n\\label{tab:made-up-eval-loss}\n"));
  CHECK(own.find("Student-t interval") > own.find("\\end{tabular}"));
  CHECK(own.find("Student-t interval") < own.find("\\end{table}"));
  CHECK(has(own, "n = 3 is too small"));
  const std::string usual = to_latex(pivot, comparison);
  CHECK(usual.find("Student-t interval") < usual.find("\\begin{tabular}"));

  const std::string whole = to_latex(comparison, "All of it");
  CHECK(has(whole,
            "\\caption{All of it (topology.kind = ring, workers.count = 8)}\n"
            "\\label{tab:made-up-1}\n"));
  CHECK(has(whole, "\\label{tab:made-up-4}\n"));
  CHECK(whole.find("n = 3 is too small") < whole.rfind("\\end{table}"));
  CHECK_FALSE(has(to_latex(comparison), "\\caption"));
}

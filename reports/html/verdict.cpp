#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "engine/recorder/metrics.hpp"
#include "reports/html/markup.hpp"
#include "reports/html/sections.hpp"
#include "reports/html/style.hpp"
#include "reports/numbers.hpp"
#include "reports/settings.hpp"

namespace acid {
namespace {

struct VerdictMetric {
  std::string_view name, words, column;
};
constexpr std::array kOutcomes{VerdictMetric{"eval_accuracy", "evaluation accuracy", "accuracy"},
                               VerdictMetric{"eval_loss", "evaluation loss", "evaluation loss"},
                               VerdictMetric{"train_loss", "training loss", "training loss"}};
constexpr std::array kColumns{VerdictMetric{"eval_accuracy", "", "accuracy"},
                              VerdictMetric{"eval_loss", "", "evaluation loss"},
                              VerdictMetric{"train_loss", "", "training loss"},
                              VerdictMetric{"consensus_distance_mid", "", "consensus, mid-run"},
                              VerdictMetric{"gradients_to_target", "", "gradients to target"},
                              VerdictMetric{"seconds_to_target", "", "time to target"},
                              VerdictMetric{"gradients", "", "gradients"},
                              VerdictMetric{"seconds", "", "time"},
                              VerdictMetric{"bytes", "", "sent"},
                              VerdictMetric{"gradients_per_second", "", "gradients/s"}};
constexpr const char* kMid = "consensus_distance_mid";

bool compared(const Comparison& comparison, std::string_view metric) {
  return std::find(comparison.metrics.begin(), comparison.metrics.end(), metric) !=
         comparison.metrics.end();
}

std::string p_text(const ComparedDifference& difference) {
  if (!difference.value.p) return "";
  std::string text = fmt::format(", exact sign-flip p = {}", format_p(difference.value.p));
  if (difference.p_holm && *difference.p_holm != *difference.value.p)
    text += fmt::format(", {} after Holm", format_p(difference.p_holm));
  return text;
}

std::string interval(const Estimate& e) {
  return with_minus(fmt::format("{} [{}, {}]", format_number(e.mean, 3),
                                format_number(*e.ci_low, 3), format_number(*e.ci_high, 3)));
}

std::string difference_sentence(const std::string& label, const std::string& baseline,
                                const VerdictMetric& metric, const ComparedDifference& difference) {
  const Estimate& e = difference.value.difference;
  if (!e.ci_low)
    return fmt::format(
        "{} differed from {} by {} in {} with the one seed they share; one seed "
        "cannot tell a difference from chance.",
        label, baseline, with_minus(format_number(e.mean, 3)), metric.words);
  // Written so that an interval that is not a number counts as covering zero.
  const bool shown = *e.ci_low > 0 || *e.ci_high < 0;
  if (!shown && e.mean == 0 && *e.sd == 0)
    return fmt::format("{} and {} ended with the same {} for every one of {} seeds.", label,
                       baseline, metric.words, e.n);
  if (!shown)
    return fmt::format(
        "No difference in {} between {} and {} was shown at n = {}: {}, the paired "
        "95 % interval covers 0{}.",
        metric.words, label, baseline, e.n, interval(e), p_text(difference));
  const Metric* known = find_metric(metric.name);
  const bool better = known != nullptr && (e.mean > 0) == (known->better > 0);
  return fmt::format("{} ended with {} {} than {} ({}): {}, paired over {} seeds{}.", label,
                     e.mean > 0 ? "higher" : "lower", metric.words, baseline,
                     better ? "better" : "worse", interval(e), e.n, p_text(difference));
}

std::string ratio_sentence(const Comparison& comparison, const std::string& label,
                           const ComparedRatio& ratio) {
  std::string reference;
  for (const ComparedGroup& group : comparison.groups)
    if (group.group == ratio.reference) reference = group.label;
  const PairedRatio& value = ratio.value;
  const std::string start = fmt::format(
      "Mid-run, the consensus distance of {} "
      "was {} × that of {}",
      label, with_minus(format_ratio(value)), reference);
  if (!value.ci_low) return start + ", from one seed.";
  const bool shown = *value.ci_low > 1 || *value.ci_high < 1;
  return fmt::format("{} (geometric mean over {} paired seeds{}).", start, value.n,
                     shown ? "" : "; the 95 % interval covers 1, so no difference was shown");
}

std::string time_sentence(const std::string& label, const std::string& baseline,
                          const ComparedGroup& group, const ComparedGroup& reference) {
  const auto mine = group.metrics.find("gradients_per_second");
  const auto theirs = reference.metrics.find("gradients_per_second");
  if (mine == group.metrics.end() || theirs == reference.metrics.end()) return "";
  if (!(theirs->second.mean > 0)) return "";
  return fmt::format("{} computed {} × as many gradients per second as {}.", label,
                     format_number(mine->second.mean / theirs->second.mean, 3), baseline);
}

Markup metric_cell(const std::string& metric, const ComparedGroup& group) {
  const auto found = group.metrics.find(metric);
  if (found == group.metrics.end()) return {"–"};
  const bool total = metric.rfind("gradients", 0) == 0 || metric.rfind("seconds", 0) == 0 ||
                     metric.rfind("bytes", 0) == 0;
  // Totals hardly differ between seeds; every run's are in a table of their own.
  const Estimate& e = found->second;
  const Estimate shown = total ? Estimate{e.n, e.mean, {}, {}, {}, {}} : e;
  std::string words = format_metric(metric, shown);
  if (total) words = words.substr(0, words.find(" ±"));
  return number_text(words);
}

std::string verdict_table(const ReportData& data) {
  const Comparison& comparison = data.comparison;
  HtmlTable table;
  table.caption =
      "Means over seeds, ± the half-width of the 95 % t interval. Accuracy and losses "
      "are last values; mid-run consensus is the mean of (1/n) Σ ‖xᵢ − x̄‖² between 20 "
      "and 50 % of the budget.";
  table.head = {"algorithm"};
  for (const auto& [key, value] : comparison.points.front().settings) table.head.push_back(key);
  table.head.emplace_back("n");
  table.first_number = table.head.size() - 1;
  std::vector<std::string> metrics;
  for (const VerdictMetric& column : kColumns)
    if (compared(comparison, column.name)) {
      metrics.emplace_back(column.name);
      table.head.emplace_back(column.column);
    }
  for (const ComparedPoint& point : comparison.points)
    for (const std::size_t g : point.groups) {
      const ComparedGroup& group = comparison.groups[g];
      std::vector<Markup> row{{swatch(data.styles[g]) + escaped(group.label)}};
      for (const auto& [key, value] : point.settings) row.push_back(text(value_text(value)));
      row.push_back(text(std::to_string(group.runs.size())));
      for (const std::string& metric : metrics) row.push_back(metric_cell(metric, group));
      table.rows.push_back(std::move(row));
    }
  return table.html();
}

}  // namespace

std::vector<std::string> verdict_sentences(const Comparison& comparison,
                                           const ComparedPoint& point) {
  std::vector<std::string> sentences;
  for (const std::size_t g : point.groups) {
    const ComparedGroup& group = comparison.groups[g];
    if (point.baseline && g != *point.baseline) {
      const ComparedGroup& baseline = comparison.groups[*point.baseline];
      int told = 0;
      for (const VerdictMetric& metric : kOutcomes) {
        const auto* difference = find_difference(comparison, group.group, std::string(metric.name));
        // The training loss speaks only where nothing was evaluated.
        if (difference == nullptr || (told > 0 && metric.name == "train_loss")) continue;
        sentences.push_back(difference_sentence(group.label, baseline.label, metric, *difference));
        ++told;
      }
      if (auto speed = time_sentence(group.label, baseline.label, group, baseline); !speed.empty())
        sentences.push_back(std::move(speed));
    }
    if (const auto* ratio = find_ratio(comparison, group.group, kMid))
      sentences.push_back(ratio_sentence(comparison, group.label, *ratio));
  }
  return sentences;
}

std::string verdict_section(const ReportData& data) {
  std::string out = "<section id=\"verdict\">\n<h2>Verdict</h2>\n";
  for (const ComparedPoint& point : data.comparison.points) {
    const std::vector<std::string> sentences = verdict_sentences(data.comparison, point);
    if (sentences.empty()) continue;
    if (!point.settings.empty()) out += fmt::format("<h3>{}</h3>\n", escaped(point_title(point)));
    out += "<ul>\n";
    for (const std::string& sentence : sentences)
      out += fmt::format("<li>{}</li>\n", escaped(sentence));
    out += "</ul>\n";
  }
  out += verdict_table(data);
  const std::vector<std::string> doubts = warnings(data);
  if (!doubts.empty()) {
    out += "<div class=\"warnings\">\n<ul>\n";
    for (const std::string& doubt : doubts) out += fmt::format("<li>{}</li>\n", escaped(doubt));
    out += "</ul>\n</div>\n";
  }
  return out + "</section>\n";
}

}  // namespace acid

#include "reports/html/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "reports/html/markup.hpp"
#include "reports/html/sections.hpp"
#include "reports/known_metrics.hpp"
#include "reports/numbers.hpp"

namespace acid {
namespace {

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
                                const OutcomeMetric& metric, const ComparedDifference& difference) {
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
  const bool better = (e.mean > 0) == (better_direction(metric.name) > 0);
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
  const std::string ratio = format_number(mine->second.mean / theirs->second.mean, 3);
  if (ratio == "1") return "";
  return fmt::format("{} computed {} × as many gradients per second as {}.", label, ratio,
                     baseline);
}

/// Groups of the point that have the metric, best mean first.
std::vector<std::size_t> ranked(const Comparison& comparison, const ComparedPoint& point,
                                const OutcomeMetric& metric) {
  const std::string name(metric.name);
  std::vector<std::size_t> groups;
  for (const std::size_t g : point.groups) {
    const auto found = comparison.groups[g].metrics.find(name);
    if (found != comparison.groups[g].metrics.end() && std::isfinite(found->second.mean))
      groups.push_back(g);
  }
  const double sign = better_direction(name);
  std::stable_sort(groups.begin(), groups.end(), [&](std::size_t a, std::size_t b) {
    return sign * comparison.groups[a].metrics.at(name).mean >
           sign * comparison.groups[b].metrics.at(name).mean;
  });
  return groups;
}

std::string lead_text(const ComparedGroup& best, const ComparedGroup& next,
                      const std::string& metric) {
  auto [own, other] = paired_by_seed(best, next, metric);
  if (better_direction(metric) < 0) std::swap(own, other);  // how much better, not how much less
  const Estimate lead = paired_difference(own, other).difference;
  if (lead.n == 0) return fmt::format("Next: {}, which shares no seed with it.", next.label);
  if (!lead.ci_low)
    return fmt::format("Next: {}; one shared seed cannot tell them apart.", next.label);
  if (*lead.ci_low > 0)
    return fmt::format("Next: {}, behind by {} (paired over {} seeds).", next.label, interval(lead),
                       lead.n);
  if (*lead.ci_high < 0)  // The means are over different seeds.
    return fmt::format("But {} is ahead by {} over the {} seeds that both have.", next.label,
                       interval(paired_difference(other, own).difference), lead.n);
  return fmt::format("Not told apart from {} at n = {}: ahead by {}.", next.label, lead.n,
                     interval(lead));
}

/// Where all that was optimised is equal, what is left to win is agreement.
Headline consensus_headline(const Comparison& comparison, const ComparedPoint& point) {
  const OutcomeMetric metric{kMidConsensus, "mid-run consensus distance"};
  const std::vector<std::size_t> groups = ranked(comparison, point, metric);
  if (groups.size() < 2) return {};
  const ComparedGroup &best = comparison.groups[groups[0]], &next = comparison.groups[groups[1]];
  const auto [other, own] = paired_by_seed(next, best, kMidConsensus);
  const auto ratio = paired_ratio(other, own);
  if (!ratio || ratio->mean == 1) return {};
  const Estimate& mean = best.metrics.at(kMidConsensus);
  const bool shown = ratio->ci_low && (*ratio->ci_low > 1 || *ratio->ci_high < 1);
  return {fmt::format("Lowest {} on average: {}.", metric.words, best.label),
          fmt::format("{} (n = {}). {} {}: {} times as far.",
                      with_minus(format_metric(kMidConsensus, mean)), mean.n,
                      shown ? "Next:" : "Not told apart from", next.label, format_ratio(*ratio))};
}

std::string list_of(const std::vector<std::string>& sentences) {
  std::string out = "<ul>\n";
  for (const std::string& sentence : sentences)
    out += fmt::format("<li>{}</li>\n", escaped(sentence));
  return out + "</ul>\n";
}

/// Of many points only the winners stand open.
constexpr std::size_t kMostOpenVerdicts = 4;

std::string verdict_in_words(const ReportData& data) {
  std::string out;
  const std::vector<ComparedPoint>& points = data.comparison.points;
  for (const ComparedPoint& point : points) {
    const std::vector<std::string> sentences = verdict_sentences(data.comparison, point);
    const Headline head = headline(data.comparison, point);
    if (sentences.empty() && head.winner.empty()) continue;
    if (!point.settings.empty()) out += fmt::format("<h3>{}</h3>\n", escaped(point_title(point)));
    if (!head.winner.empty())
      out += fmt::format("<p class=\"headline\"><strong>{}</strong> {}</p>\n", escaped(head.winner),
                         escaped(head.rest));
    if (sentences.empty()) continue;
    const std::string list = list_of(sentences);
    out += points.size() <= kMostOpenVerdicts ? list : details("Against the baseline", list);
  }
  return out;
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
      for (const OutcomeMetric& metric : kOutcomes) {
        const auto* difference = find_difference(comparison, group.group, std::string(metric.name));
        // The training loss speaks only where nothing was evaluated.
        if (difference == nullptr || (told > 0 && metric.name == "train_loss")) continue;
        sentences.push_back(difference_sentence(group.label, baseline.label, metric, *difference));
        ++told;
      }
      if (auto speed = time_sentence(group.label, baseline.label, group, baseline); !speed.empty())
        sentences.push_back(std::move(speed));
    }
    if (const auto* ratio = find_ratio(comparison, group.group, kMidConsensus))
      sentences.push_back(ratio_sentence(comparison, group.label, *ratio));
  }
  return sentences;
}

Headline headline(const Comparison& comparison, const ComparedPoint& point) {
  for (const OutcomeMetric& metric : kOutcomes) {
    const std::vector<std::size_t> groups = ranked(comparison, point, metric);
    if (groups.size() < 2) continue;
    const std::string name(metric.name);
    const ComparedGroup &best = comparison.groups[groups[0]], &next = comparison.groups[groups[1]];
    const Estimate &first = best.metrics.at(name), &second = next.metrics.at(name);
    if (first.mean == second.mean) continue;
    Headline head;
    head.winner =
        fmt::format("{} {} on average: {}.", better_direction(name) > 0 ? "Highest" : "Lowest",
                    metric.words, best.label);
    head.rest = fmt::format("{} (n = {}). {}", with_minus(format_metric(name, first)), first.n,
                            lead_text(best, next, name));
    return head;
  }
  return consensus_headline(comparison, point);
}

std::string verdict_section(const ReportData& data) {
  std::string out = "<section id=\"verdict\">\n<h2>Verdict</h2>\n";
  const std::string words = verdict_in_words(data), forests = verdict_forests(data);
  const std::string pictures =
      forests.empty() ? "" : "<div class=\"forests\">\n" + forests + "</div>\n";
  const bool beside = data.comparison.points.size() == 1 && !words.empty() && !forests.empty();
  if (beside)
    out += fmt::format("<div class=\"beside\">\n<div>\n{}</div>\n{}</div>\n", words, pictures);
  else
    out += words + pictures;
  out += verdict_table(data);
  const std::vector<std::string> doubts = warnings(data);
  if (!doubts.empty()) out += "<div class=\"warnings\">\n" + list_of(doubts) + "</div>\n";
  return out + "</section>\n";
}

}  // namespace acid

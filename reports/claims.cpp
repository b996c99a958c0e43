#include "reports/claims.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

#include "engine/base/error.hpp"
#include "reports/compare.hpp"
#include "reports/equal_places.hpp"
#include "reports/known_metrics.hpp"
#include "reports/numbers.hpp"
#include "reports/power.hpp"

namespace acid {
namespace {

using nlohmann::json;

/// One test at one point: the advantage of every seed beyond what is claimed, above 0 where the
/// claim is true.
struct Tested {
  std::string at;
  std::vector<std::vector<double>> advantages;  // one list, or one for each side of a range
  Estimate estimate;
  std::string read;        // JudgedClaim::read
  bool is_absent = false;  // an algorithm has no runs there
  std::string missing;     // why there is nothing to test; empty: there is
  std::string doubt;       // why what is found is not told; empty: it is
};

/// The group with this label at a point, with the seeds of the claim alone.
std::optional<ComparedGroup> group_at(const Comparison& comparison, const ComparedPoint& point,
                                      const std::string& label,
                                      const std::vector<std::uint64_t>& seeds) {
  for (const std::size_t g : point.groups) {
    if (comparison.groups[g].label != label) continue;
    ComparedGroup group = comparison.groups[g];
    const auto is_other = [&](std::uint64_t seed) {
      return !std::ranges::binary_search(seeds, seed);
    };
    std::erase_if(group.runs, [&](const RunSummary& run) { return is_other(run.seed); });
    std::erase_if(group.diverged, is_other);
    return group;
  }
  return std::nullopt;
}

bool has_values(const ComparedPoint& point,
                const std::vector<std::pair<std::string, json>>& where) {
  return std::ranges::all_of(where, [&](const auto& wanted) {
    return std::ranges::find(point.settings, wanted) != point.settings.end();
  });
}

/// The advantage of `a` over `b` beyond a margin, by seed; a run that diverged is infinitely worse,
/// and of two that did neither is better by the margin, which is then its mean over the others.
/// Here and below, what is within rounding of a bound is on neither side of it.
std::vector<double> advantages_of(const PairedValues& pairs, int direction, const Margin& margin) {
  std::vector<double> list, margins;
  for (const double b : pairs.b)
    if (std::isfinite(b)) margins.push_back(margin.of(b));
  const double usual = margins.empty() ? margin.value : estimate(margins).mean;
  for (std::size_t k = 0; k < pairs.a.size(); ++k) {
    const double a = pairs.a[k], b = pairs.b[k];
    const double difference = a == b ? 0 : direction * (a - b);
    const double beyond = std::isfinite(b) ? margin.of(b) : a == b ? usual : 0;
    list.push_back(beyond_floor(difference - beyond, pairs.floors[k]));
  }
  return list;
}

/// As better_direction(); a run's total costs are better if they are less.
int direction_of(std::string_view metric) {
  return metric == "seconds" || metric == "bytes" ? -1 : better_direction(metric);
}

/// What is tested of two groups at a point, which have values there.
Tested advantages_tested(const Claim& claim, Claim::Kind kind, const PairedValues& pairs,
                         int direction) {
  Tested tested;
  if (kind == Claim::Kind::ratio) {
    std::vector<double> above, below;
    for (std::size_t k = 0; k < pairs.a.size(); ++k) {
      const double ratio = std::log(pairs.a[k]) - std::log(pairs.b[k]);
      const double share = pairs.floors[k] / std::max(pairs.a[k], pairs.b[k]);
      above.push_back(beyond_floor(ratio - std::log(claim.low), share));
      below.push_back(beyond_floor(std::log(claim.high) - ratio, share));
    }
    tested.advantages = {above, below};
    if (const auto ratio = paired_ratio(pairs.a, pairs.b))
      tested.estimate = {ratio->n, ratio->mean, {}, {}, ratio->ci_low, ratio->ci_high};
    else
      tested.missing = "a value is not above 0, so that there is no ratio";
    if (tested.missing.empty() && tested.estimate.n < static_cast<int>(pairs.a.size()))
      tested.missing = "a run diverged or missed its target, and there is no ratio to that";
    return tested;
  }
  tested.estimate = paired_difference(pairs.a, pairs.b).difference;
  if (kind == Claim::Kind::better) {
    tested.advantages = {advantages_of(pairs, direction, claim.margin)};
  } else if (tested.estimate.n < static_cast<int>(pairs.a.size())) {
    tested.missing = kind == Claim::Kind::law
                         ? "a run diverged or missed its target, of which no law tells"
                         : "a run diverged or missed its target, and nothing is equivalent to that";
  } else {
    std::vector<double> above, below;
    for (std::size_t k = 0; k < pairs.a.size(); ++k) {
      const double difference = pairs.a[k] == pairs.b[k] ? 0 : pairs.a[k] - pairs.b[k];
      const double margin = claim.margin.of(pairs.b[k]);
      above.push_back(beyond_floor(margin + difference, pairs.floors[k]));
      below.push_back(beyond_floor(margin - difference, pairs.floors[k]));
    }
    tested.advantages = {above, below};
  }
  return tested;
}

/// Advantages that are no larger than what lines between samples may be wrong by say nothing.
Tested tested_of(const Claim& claim, Claim::Kind kind, const PairedValues& pairs, int direction) {
  Tested tested = advantages_tested(claim, kind, pairs, direction);
  const double mean_of_other = std::abs(estimate(pairs.b).mean);
  const double hidden =
      kind == Claim::Kind::ratio && mean_of_other > 0 ? pairs.hidden / mean_of_other : pairs.hidden;
  for (std::vector<double>& list : tested.advantages) {
    std::vector<double> finite;
    std::ranges::copy_if(list, std::back_inserter(finite),
                         [](double value) { return std::isfinite(value); });
    if (!(hidden > 0) || finite.empty() || std::abs(estimate(finite).mean) > hidden) continue;
    if (finite.size() == list.size())
      tested.doubt = fmt::format(
          "the difference is no further from what is claimed than lines between samples may be "
          "wrong by, {}; a finer cadence in [evaluation] makes that less",
          format_number(pairs.hidden, 3));
    else  // beside a run that diverged or missed its target, the other is better all the same
      for (double& value : list)
        if (std::isfinite(value)) value = 0;
  }
  return tested;
}

/// The values of `a`, each beside what `second` has or what the law says.
PairedValues paired_with(const Claim& claim, const ComparedGroup& a,
                         const std::optional<ComparedGroup>& second, const std::string& metric) {
  if (second) return paired_by_seed(a, *second, metric);
  PairedValues pairs = paired_by_seed(a, a, metric);
  pairs.b.assign(pairs.a.size(), said_by_law(claim, a.settings));
  pairs.hidden /= 2;  // of one group
  return pairs;
}

/// Why values are not read at the claim's equal place; empty: they are.
std::string why_stale(const Comparison& comparison, const Claim& claim, std::size_t point) {
  for (const EqualPlace& place : comparison.equal)
    if (place.point == point && place.axis == claim.equal &&
        std::ranges::any_of(place.stale, [&](const EqualPlace::Stale& one) {
          const std::string& label = comparison.groups[one.group].label;
          return label == claim.algorithm || label == claim.than;
        }))
      return "; nothing is read" + doubt_of(comparison, place);
  return {};
}

/// `turned`: of the metric a worse value is claimed, not a better one.
Tested test_point(const Comparison& comparison, const Claim& claim, std::size_t p, bool turned) {
  const ComparedPoint& point = comparison.points[p];
  const auto kind = claim.kind == Claim::Kind::crossover ? Claim::Kind::better : claim.kind;
  Tested tested;
  const auto a = group_at(comparison, point, claim.algorithm, claim.seeds),
             b = group_at(comparison, point, claim.than, claim.seeds);
  const auto read = metric_read_at(comparison, claim.metric, claim.equal, p);
  tested.is_absent = !a || (!b && kind != Claim::Kind::law);
  if (tested.is_absent) {
    tested.missing =
        fmt::format("none of these runs of {} has ended", a ? claim.than : claim.algorithm);
  } else if (b && clocks_differ(*a, *b) &&
             (is_on_clock(claim.metric) || claim.equal == PositionAxis::seconds)) {
    tested.missing = "seconds of one are simulated, and those of the other real";
  } else if (!read) {
    tested.missing =
        fmt::format("{} is not read at equal {}", claim.metric, equal_words(*claim.equal));
  } else {
    const PairedValues pairs = paired_with(claim, *a, b, read->name);
    const bool diverged = !a->diverged.empty() || (b && !b->diverged.empty());
    if (pairs.a.size() < claim.seeds.size())
      tested.missing = fmt::format("{} of {} seeds have a value{}{}", pairs.a.size(),
                                   claim.seeds.size(), kind == Claim::Kind::law ? "" : " of both",
                                   diverged ? "; runs that diverged have none" : "") +
                       why_stale(comparison, claim, p);
    else if (pairs.a.size() < 2)
      tested.missing = "one seed cannot tell a difference from chance";
    else if (kind == Claim::Kind::law && claim.margin.relative && pairs.b.front() == 0)
      tested.missing = "the law says 0, of which no share is a margin";
    else
      tested = tested_of(claim, kind, pairs, (turned ? -1 : 1) * direction_of(claim.metric));
    tested.read = read->words;
  }
  tested.at = settings_title(point.settings);
  return tested;
}

/// All tests of a claim that have to agree.
std::vector<Tested> tests_of(const Comparison& comparison, const Claim& claim) {
  std::vector<Tested> tests;
  for (std::size_t p = 0; p < comparison.points.size(); ++p) {
    const ComparedPoint& point = comparison.points[p];
    if (!has_values(point, claim.where)) continue;
    if (claim.kind != Claim::Kind::crossover) {
      tests.push_back(test_point(comparison, claim, p, false));
      continue;
    }
    const auto is_at = [&](const json& value) {
      return std::ranges::find(point.settings, std::pair(claim.key, value)) != point.settings.end();
    };
    if (is_at(claim.first)) tests.push_back(test_point(comparison, claim, p, false));
    if (is_at(claim.second)) tests.push_back(test_point(comparison, claim, p, true));
  }
  // Settings at which only one of them runs are left out, once all at which both do are there.
  const auto both = static_cast<std::size_t>(std::ranges::count(tests, false, &Tested::is_absent));
  if (both >= std::max<std::size_t>(claim.points, 1)) std::erase_if(tests, &Tested::is_absent);
  return tests;
}

/// The mean of an advantage in its standard deviations; far from 0 if it has no spread.
double effect_of(const std::vector<double>& advantage) {
  constexpr double kCertain = 100;
  const Estimate e = estimate(advantage);
  return e.mean == 0 ? 0 : *e.sd > 0 ? e.mean / *e.sd : std::copysign(kCertain, e.mean);
}

/// What more seeds can show if all is as it was seen.
struct Prospect {
  std::vector<std::vector<double>> effects;  // by setting and side
  double against = 0;     // the largest effect of what speaks against the claim and is told
  std::size_t sides = 0;  // in all settings
  bool can_hold = true;   // no doubt, and an advantage everywhere

  double power(int seeds, double level) const {
    return can_hold ? power_at_each(seeds, effects, level)
                    : one_sided_power_of(seeds, against, level / static_cast<double>(sides));
  }
};

Prospect prospect_of(const std::vector<Tested>& tests) {
  Prospect prospect;
  for (const Tested& one : tests) {
    std::vector<double>& effects = prospect.effects.emplace_back();
    for (const std::vector<double>& advantage : one.advantages) {
      const double effect = effects.emplace_back(effect_of(advantage));
      ++prospect.sides;
      prospect.can_hold = prospect.can_hold && effect > 0 && one.doubt.empty();
      if (one.doubt.empty()) prospect.against = std::max(prospect.against, -effect);
    }
  }
  return prospect;
}

/// Why it cannot be told, and how many seeds would probably tell. `advantage`: that of the largest
/// p.
void add_needs(JudgedClaim& judged, const std::vector<double>& advantage,
               const std::vector<Tested>& tests, const std::vector<Claim>& family) {
  const Estimate e = estimate(advantage);
  const double smallest = smallest_p_of(judged.claim, family);
  judged.why = smallest > judged.claim.level
                   ? fmt::format(
                         "{} seeds are too few to show it, whatever they are: the smallest p "
                         "is {}",
                         e.n, format_p(smallest))
                   : fmt::format("{} seeds do not show it, nor the contrary", e.n);
  if (std::ranges::all_of(advantage, [](double value) { return value == 0; }))
    judged.why += "; all differ by what is claimed, to rounding";
  if (!judged.doubt.empty()) judged.why += "; besides, " + judged.doubt;
  const bool all_finite = std::ranges::all_of(tests, [](const Tested& one) {
    return std::ranges::all_of(one.advantages, [](const std::vector<double>& list) {
      return std::isfinite(estimate(list).mean);
    });
  });
  if (!all_finite || !(*e.sd > 0) || e.mean == 0) return;
  const Prospect prospect = prospect_of(tests);
  if (!prospect.can_hold && prospect.against == 0) return;
  const double level = judged.claim.level / static_cast<double>(family.size());
  for (int seeds = e.n + 1; seeds <= kMostPlannedSeeds; seeds += 1 + seeds / 50)
    if (prospect.power(seeds, level) >= kPower) {
      judged.seeds_to_show = seeds;
      judged.why += fmt::format("; if it is what was seen, {} seeds show {} with 80 % power", seeds,
                                prospect.can_hold ? "it" : "that it is not so");
      return;
    }
}

void test(JudgedClaim& judged, const std::vector<Tested>& tests, const std::vector<Claim>& family) {
  if (tests.empty()) {
    judged.why = "no point of the sweep has its settings";
    return;
  }
  if (tests.size() < judged.claim.points) {
    judged.why = fmt::format("it is about {} settings, and the runs are of {}", judged.claim.points,
                             tests.size());
    return;
  }
  double largest = -1, least = 2;
  const std::vector<double>* decides = nullptr;
  std::size_t counters = 0;
  for (const Tested& one : tests) {
    if (!one.missing.empty()) {
      judged.why = one.at.empty() ? one.missing : one.at + ": " + one.missing;
      judged.at = one.at;
      judged.estimate = {};
      judged.pairs = 0;
      return;
    }
    if (!one.doubt.empty() && judged.doubt.empty())
      judged.doubt = one.at.empty() ? one.doubt : one.at + ": " + one.doubt;
    for (const std::vector<double>& advantage : one.advantages) {
      std::vector<double> turned;
      for (const double value : advantage) turned.push_back(-value);
      const auto p = above_p(advantage), counter = above_p(turned);
      if (!p || !counter) {
        judged.why = "a value is not a number";
        return;
      }
      ++counters;
      if (one.doubt.empty()) least = std::min(least, *counter);
      if (decides != nullptr && std::tuple(-*p, estimate(advantage).mean, one.at) >=
                                    std::tuple(-largest, estimate(*decides).mean, judged.at))
        continue;
      largest = *p;
      judged.estimate = one.estimate;
      judged.pairs = static_cast<int>(advantage.size());
      judged.test = test_of(advantage);
      judged.at = one.at;
      judged.read = one.read;
      decides = &advantage;
    }
  }
  judged.p = largest;
  judged.counter_p = std::min(1.0, least * static_cast<double>(counters));
  add_needs(judged, *decides, tests, family);
}

/// `family`: the number of claims, with those that are left out.
void adjust(std::vector<JudgedClaim>& claims, std::size_t family,
            std::optional<double> JudgedClaim::*from, std::optional<double> JudgedClaim::*to) {
  std::vector<double> p(family, 1);
  for (std::size_t k = 0; k < claims.size(); ++k) p[k] = (claims[k].*from).value_or(1);
  const std::vector<double> adjusted = holm(p);
  for (std::size_t k = 0; k < claims.size(); ++k)
    if (claims[k].*from) claims[k].*to = adjusted[k];
}

}  // namespace

std::vector<JudgedClaim> judge_claims(const std::vector<const Comparison*>& comparisons,
                                      const std::vector<Claim>& claims,
                                      const std::vector<Claim>& left_out) {
  std::vector<Claim> family = claims;
  family.insert(family.end(), left_out.begin(), left_out.end());
  std::vector<JudgedClaim> judged;
  for (std::size_t k = 0; k < claims.size(); ++k) {
    judged.emplace_back().claim = claims[k];
    test(judged.back(), tests_of(*comparisons[k], claims[k]), family);
  }
  adjust(judged, family.size(), &JudgedClaim::p, &JudgedClaim::p_holm);
  adjust(judged, family.size(), &JudgedClaim::counter_p, &JudgedClaim::counter_p_holm);
  for (JudgedClaim& one : judged) {
    if (!one.p_holm) continue;
    const bool is_shown = *one.p_holm <= one.claim.level;
    if (is_shown && !one.doubt.empty()) {
      one.why = one.doubt;
      one.seeds_to_show.reset();
    } else if (is_shown) {
      one.verdict = ClaimVerdict::holds;
    } else if (*one.counter_p_holm <= one.claim.level) {
      one.verdict = ClaimVerdict::does_not_hold;
    }
    if (one.verdict == ClaimVerdict::cannot_be_told) continue;
    one.why.clear();
    one.seeds_to_show.reset();
  }
  return judged;
}

}  // namespace acid

// Verdicts on claims as text and as JSON.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "reports/claims.hpp"
#include "reports/compare_formats.hpp"
#include "reports/equal_places.hpp"
#include "reports/known_metrics.hpp"
#include "reports/numbers.hpp"
#include "reports/power.hpp"
#include "reports/settings.hpp"
#include "reports/text_table.hpp"
#include "store/filter.hpp"

namespace acid {
namespace {

using nlohmann::json;

std::string number_of(const Claim& claim, double value) {
  return claim.kind == Claim::Kind::ratio ? format_number(value, 4)
                                          : format_metric_value(claim.metric, value);
}

/// The smallest advantage beyond the margin that is shown with kPower, in its standard deviations;
/// absent if the seeds can show none.
std::optional<double> effect_shown(const Claim& claim, std::size_t claims) {
  constexpr double kLargestEffect = 100;
  const int seeds = static_cast<int>(claim.seeds.size());
  if (power_of_claim(claim, seeds, kLargestEffect, claims) < kPower) return std::nullopt;
  double low = 0, high = kLargestEffect;
  while (high - low > 1e-4 * high) {
    const double middle = (low + high) / 2;
    (power_of_claim(claim, seeds, middle, claims) >= kPower ? high : low) = middle;
  }
  return high;
}

/// Where an advantage has to be: " on both sides at each of 4 settings".
std::string everywhere_words(const Claim& claim) {
  return (claim.is_range() ? " on both sides" : "") +
         (claim.points > 1 ? fmt::format(" at each of {} settings", claim.points) : std::string());
}

/// Why the seeds of a claim cannot show it by themselves.
std::string few_seeds_words(const Claim& claim, double smallest_p) {
  return fmt::format("{} seeds {}: the smallest p is {}", claim.seeds.size(),
                     smallest_p > claim.level
                         ? "are too few to hold it"
                         : "can hold it only if the claims with more seeds hold",
                     format_p(smallest_p));
}

json number_or_null(const std::optional<double>& value) { return value ? json(*value) : json(); }

/// What is known before the runs. power: power_of_claim() at one standard deviation.
json json_of(const Claim& claim, std::size_t claims) {
  const int seeds = static_cast<int>(claim.seeds.size());
  return {{"name", claim.name},
          {"kind", name_of(claim.kind)},
          {"claim", claim.words()},
          {"digest", claim.digest},
          {"level", claim.level},
          {"seeds", seeds},
          {"power", power_of_claim(claim, seeds, 1, claims)}};
}

std::string margin_text(const Claim& claim) {
  return claim.margin.relative || !has_unit(claim.metric)
             ? claim.margin.words()
             : format_metric_value(claim.metric, claim.margin.value);
}

}  // namespace

std::string_view name_of(ClaimVerdict verdict) {
  constexpr std::array<std::string_view, 3> kNames{"holds", "does not hold", "cannot be told"};
  return kNames[static_cast<std::size_t>(verdict)];
}

double smallest_p_of(const Claim& claim, const std::vector<Claim>& family) {
  double smallest = 0;
  for (const Claim& surer : family) {
    if (surer.seeds.size() < claim.seeds.size()) continue;
    const auto left = std::ranges::count_if(
        family, [&](const Claim& one) { return one.seeds.size() <= surer.seeds.size(); });
    smallest = std::max(smallest, static_cast<double>(left) / std::exp2(surer.seeds.size()));
  }
  return std::min(1.0, smallest);
}

double power_of_claim(const Claim& claim, int seeds, double effect, std::size_t claims) {
  const std::vector<double> sides(claim.is_range() ? 2 : 1, effect);
  const std::size_t least = claim.kind == Claim::Kind::crossover ? 2 : 1;
  const std::vector<std::vector<double>> effects(std::max(least, claim.points), sides);
  return power_at_each(seeds, effects, claim.level / static_cast<double>(claims));
}

double said_by_law(const Claim& claim, const json& settings) {
  try {
    return number_of_settings(claim.formula, settings);
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("the formula of the claim '{}': {}", claim.name, error.what()));
  }
}

std::string Claim::words() const {
  const std::string place =
      metric + (equal ? fmt::format(" at equal {}", equal_words(*equal)) : std::string());
  std::string said;
  switch (kind) {
    case Kind::better:
      said = fmt::format("{} is better than {} in {}", algorithm, than, place);
      if (margin.value > 0) said += fmt::format(" by {} at least", margin_text(*this));
      break;
    case Kind::equivalent:
      said = fmt::format("{} and {} differ by less than {} in {}", algorithm, than,
                         margin_text(*this), place);
      break;
    case Kind::ratio:
      said = fmt::format("{} of {} is {} to {} times that of {}", place, algorithm, exact_text(low),
                         exact_text(high), than);
      break;
    case Kind::crossover:
      said = fmt::format("in {}, {} is better than {} at {} = {} and worse at {}", place, algorithm,
                         than, key, value_text(first), value_text(second));
      break;
    case Kind::law:
      said = fmt::format("{} of {} is {} within {}", place, algorithm, formula, margin_text(*this));
      break;
  }
  if (!where.empty()) said += ", where " + settings_title(where);
  constexpr double kUsualLevel = 0.05;
  return level == kUsualLevel ? said : fmt::format("{}, at level {}", said, exact_text(level));
}

std::string found(const JudgedClaim& judged) {
  const Claim& claim = judged.claim;
  const int left = judged.estimate.n;
  if (judged.pairs == 0) return {};
  std::string text = left > 0 ? number_of(claim, judged.estimate.mean) : "no mean";
  if (judged.estimate.ci_low)
    text += fmt::format(" [{}, {}]", number_of(claim, *judged.estimate.ci_low),
                        number_of(claim, *judged.estimate.ci_high));
  if (left < judged.pairs)
    text +=
        fmt::format(" over {} of {} seeds (with the others a run diverged or missed its target)",
                    left, judged.pairs);
  const bool contrary = judged.verdict == ClaimVerdict::does_not_hold;
  if (const auto p = contrary ? judged.counter_p_holm : judged.p_holm)
    text += fmt::format(", {}p = {}{}", contrary ? "of the contrary " : "", format_p(p),
                        judged.test == PairedTest::signed_rank ? " by ranks" : "");
  if (!judged.at.empty()) text += " at " + judged.at;
  return judged.read.empty() ? text : fmt::format("{} (read {})", text, judged.read);
}

std::string registered_words(const JudgedClaim& judged) {
  if (!judged.registered.value_or(true))
    return "This claim was written, or altered, after its first run began.";
  if (judged.left_out.empty()) return {};
  const std::size_t claims = judged.left_out.size();
  return fmt::format(
      "{} written with it before the runs and left out since, and the p counts {}: {}.",
      claims == 1 ? "A claim was" : fmt::format("{} claims were", claims),
      claims == 1 ? "it" : "them", fmt::join(judged.left_out, "; "));
}

std::string to_text(const std::vector<JudgedClaim>& claims, int columns) {
  constexpr int kVerdict = 16;
  const std::string indent(kVerdict, ' ');
  std::string text = fmt::format(
      "claims{}\n", claims.size() == 1
                        ? std::string()
                        : fmt::format("  {} of one family: p are Holm's", claims.size()));
  for (const JudgedClaim& judged : claims) {
    text += fmt::format("{:<{}}{}\n", name_of(judged.verdict), kVerdict, judged.claim.name);
    std::string words = judged.claim.words();
    if (const std::string numbers = found(judged); !numbers.empty()) words += ": " + numbers;
    for (const std::string& line : {words + ".", judged.why.empty() ? judged.why : judged.why + ".",
                                    registered_words(judged)})
      if (!line.empty()) text += indent + wrapped(line, columns - kVerdict, indent) + "\n";
  }
  return text;
}

std::string planned_words(const std::vector<Claim>& claims, const std::set<std::string>& late,
                          int columns) {
  const std::string indent = "  ";
  std::string text = "claims\n";
  for (const Claim& claim : claims) {
    const auto effect = effect_shown(claim, claims.size());
    const std::string power =
        effect ? fmt::format(
                     "{} seeds hold an advantage beyond it of {} standard deviations{} with {:.0f} "
                     "% power",
                     claim.seeds.size(), format_number(*effect, 3), everywhere_words(claim),
                     100 * kPower)
               : few_seeds_words(claim, smallest_p_of(claim, claims));
    text += indent +
            wrapped(fmt::format("{}: {}. {}.{}", claim.name, claim.words(), power,
                                late.contains(claim.digest)
                                    ? " It comes late: runs that decide it have begun in the store."
                                    : ""),
                    columns - 2, indent) +
            "\n";
  }
  return text;
}

json planned_json(const std::vector<Claim>& claims, const std::set<std::string>& late) {
  json list = json::array();
  for (const Claim& claim : claims) {
    json row = json_of(claim, claims.size());
    row["smallest_p"] = smallest_p_of(claim, claims);
    row["effect_shown"] = number_or_null(effect_shown(claim, claims.size()));
    row["late"] = late.contains(claim.digest);
    list.push_back(std::move(row));
  }
  return list;
}

json to_json(const std::vector<JudgedClaim>& claims) {
  json list = json::array();
  for (const JudgedClaim& judged : claims) {
    const Claim& claim = judged.claim;
    const bool has_estimate = judged.estimate.n > 0;
    json row = json_of(claim, claims.size());
    row.update({{"verdict", name_of(judged.verdict)},
                {"estimate", has_estimate ? json(judged.estimate.mean) : json()},
                {"ci_low", number_or_null(judged.estimate.ci_low)},
                {"ci_high", number_or_null(judged.estimate.ci_high)},
                {"n", judged.estimate.n},
                {"pairs", judged.pairs},
                {"test", judged.pairs > 0 ? json(name_of(judged.test)) : json()},
                {"at", judged.at},
                {"p", number_or_null(judged.p)},
                {"p_holm", number_or_null(judged.p_holm)},
                {"contrary_p", number_or_null(judged.counter_p)},
                {"contrary_p_holm", number_or_null(judged.counter_p_holm)},
                {"seeds_to_show", judged.seeds_to_show ? json(*judged.seeds_to_show) : json()},
                {"why", judged.why},
                {"registered", judged.registered ? json(*judged.registered) : json()}});
    if (!judged.read.empty()) row["read"] = judged.read;
    if (!judged.left_out.empty()) row["left_out"] = judged.left_out;
    list.push_back(std::move(row));
  }
  return list;
}

}  // namespace acid

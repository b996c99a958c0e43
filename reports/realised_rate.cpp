#include "reports/realised_rate.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <map>
#include <set>

#include "engine/methods/common_fields.hpp"
#include "reports/settings.hpp"

namespace acid {

std::optional<double> nominal_rate(const nlohmann::json& settings) {
  const double rate = number_at(settings, "/algorithm/communication_rate", 0);
  return rate > 0 && number_at(settings, "/workers/count", 1) > 1 ? std::optional(rate)
                                                                  : std::nullopt;
}

std::string different_rates(const Comparison& comparison) {
  for (const ComparedPoint& point : comparison.points) {
    std::map<std::string, std::set<double>> by_method;
    std::set<double> all;
    std::vector<std::string> named;
    bool several = false;
    for (const std::size_t g : point.groups) {
      const ComparedGroup& group = comparison.groups[g];
      const std::optional<double> rate = nominal_rate(group.settings);
      if (!rate) continue;
      std::set<double>& own = by_method[group.algorithm];
      own.insert(*rate);
      several = several || own.size() > 1;
      all.insert(*rate);
      named.push_back(fmt::format("{} {:.4g}", group.label, *rate));
    }
    if (all.size() > 1 && !several) return fmt::format("{}", fmt::join(named, ", "));
  }
  return "";
}

bool saturates(const nlohmann::json& settings) {
  return setting_at(settings, std::string("/algorithm/") + kSaturates) == true;
}

std::optional<std::string> rate_doubt(double nominal, double realised, double gradients,
                                      bool saturated) {
  constexpr double kFar = 0.05;
  const double off = realised / nominal - 1;
  if (!(gradients > 0) || std::abs(off) <= kFar) return std::nullopt;
  if (saturated)
    return fmt::format(
        "{:.3g} exchanges per gradient, as many as the network carried, where the "
        "plan expected {:.3g} ({:+.0f} %), from which the method's numbers are",
        realised, nominal, 100 * off);
  // The number of exchanges is drawn from a Poisson distribution of mean nominal × gradients ÷ 2.
  const bool by_chance = std::abs(off) <= 3 * std::sqrt(2 / (nominal * gradients));
  return fmt::format("{:.3g} exchanges per gradient instead of {:.3g} ({:+.0f} %): {}", realised,
                     nominal, 100 * off,
                     by_chance ? "chance, for so few are drawn"
                               : "what ran is not quite the method that was asked for");
}

}  // namespace acid

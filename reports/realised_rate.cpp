#include "reports/realised_rate.hpp"

#include <fmt/format.h>

#include <cmath>

namespace acid {

std::optional<double> nominal_rate(const nlohmann::json& settings) {
  const nlohmann::json::json_pointer rate("/algorithm/communication_rate");
  const nlohmann::json::json_pointer workers("/workers/count");
  if (!settings.contains(rate) || !settings.contains(workers)) return std::nullopt;
  const auto nominal = settings.at(rate).get<double>();
  if (nominal <= 0 || settings.at(workers).get<int>() < 2) return std::nullopt;
  return nominal;
}

std::optional<std::string> rate_doubt(double nominal, double realised, double gradients) {
  constexpr double kFar = 0.05;
  const double off = realised / nominal - 1;
  if (!(gradients > 0) || std::abs(off) <= kFar) return std::nullopt;
  // The number of exchanges is drawn from a Poisson distribution of mean nominal × gradients ÷ 2.
  const bool by_chance = std::abs(off) <= 3 * std::sqrt(2 / (nominal * gradients));
  return fmt::format("{:.3g} exchanges per gradient instead of {:.3g} ({:+.0f} %): {}", realised,
                     nominal, 100 * off,
                     by_chance ? "chance, for so few are drawn"
                               : "what ran is not quite the method that was asked for");
}

}  // namespace acid

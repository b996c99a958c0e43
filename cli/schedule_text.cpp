#include "cli/schedule_text.hpp"

#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>

namespace acid {

using nlohmann::json;

std::string text_of_schedule(const json& schedule) {
  const json& period = schedule.at("period");
  std::string text =
      period.is_null()
          ? std::string("  period       none: drawn; exchanges of one seed are measured\n")
          : fmt::format("  period       {} exchanges\n", period.get<std::int64_t>());
  // JSON has no infinity, the value of these numbers for a graph without all edges.
  const auto number = [&](const char* name) {
    return schedule.at(name).is_number() ? schedule.at(name).get<double>()
                                         : std::numeric_limits<double>::infinity();
  };
  text += fmt::format("  messages     {:.6g} per exchange\n", number("messages"));
  text += fmt::format("  χ₁, χ₂       {:.6g}, {:.6g} of the expected graph, in exchanges\n",
                      number("chi1"), number("chi2"));
  if (!schedule.at("left").is_null())
    text += fmt::format("  left         {:.6g} of the workers' differences, at most, after {}\n",
                        number("left") < 1e-7 ? 0 : number("left"),
                        period.is_null() ? "an exchange, in expectation" : "a period");
  if (schedule.at("stochastic") == "columns")
    text +=
        "  weights      columns sum to 1, rows do not: for methods with push-sum, such as sgp\n";
  if (schedule.at("stochastic") == "rows")
    text += "  weights      rows sum to 1, columns do not: the mean of the workers moves\n";
  return text;
}

}  // namespace acid

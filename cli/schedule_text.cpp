#include "cli/schedule_text.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace acid {

using nlohmann::json;

namespace {

const char* name_of(Stochastic stochastic) {
  switch (stochastic) {
    case Stochastic::doubly:
      return "doubly";
    case Stochastic::columns:
      return "columns";
    case Stochastic::rows:
      return "rows";
  }
  return "";
}

}  // namespace

json document_of(const ScheduleNumbers& schedule) {
  return {{"period", schedule.period > 0 ? json(schedule.period) : json()},
          {"stochastic", name_of(schedule.stochastic)},
          {"messages", schedule.messages},
          {"chi1", schedule.expected.chi1},
          {"chi2", schedule.expected.chi2},
          {"left", schedule.left ? json(*schedule.left) : json()}};
}

std::string text_of(const ScheduleNumbers& schedule) {
  std::string text =
      schedule.period > 0
          ? fmt::format("  period       {} exchanges\n", schedule.period)
          : std::string("  period       none: drawn; exchanges of one seed are measured\n");
  text += fmt::format("  messages     {:.6g} per exchange\n", schedule.messages);
  text += fmt::format("  χ₁, χ₂       {:.6g}, {:.6g} of the expected graph, in exchanges\n",
                      schedule.expected.chi1, schedule.expected.chi2);
  if (schedule.left)
    text += fmt::format("  left         {:.6g} of the workers' differences, at most, after {}\n",
                        *schedule.left < 1e-7 ? 0 : *schedule.left,
                        schedule.period > 0 ? "a period" : "an exchange, in expectation");
  if (schedule.stochastic == Stochastic::columns)
    text +=
        "  weights      columns sum to 1, rows do not: for methods with push-sum, such as sgp\n";
  if (schedule.stochastic == Stochastic::rows)
    text += "  weights      rows sum to 1, columns do not: the mean of the workers moves\n";
  return text;
}

}  // namespace acid

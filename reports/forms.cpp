#include "reports/forms.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "engine/base/error.hpp"
#include "reports/compare_formats.hpp"

namespace acid {
namespace {

using Shape = ComparisonForm::Shape;

using Whole = const Comparison&;
using Asked = const FormRequest&;

/// One table for each metric.
template <class Print>
std::string pivots(Whole comparison, Asked asked, Print print) {
  std::string text;
  for (const std::string& metric : pivot_metrics(comparison, asked.metrics))
    text += (text.empty() ? "" : "\n") + print(pivot_of(comparison, metric, asked.keys));
  return text;
}

constexpr std::array kForms{
    ComparisonForm{Shape::whole, "",
                   [](Whole it, Asked asked) {
                     return to_screen(it, asked.colour, asked.command, asked.metrics, asked.lines);
                   }},
    ComparisonForm{Shape::whole, "details",
                   [](Whole it, Asked asked) { return to_text(it, asked.colour, asked.lines); }},
    // Text from elsewhere (a label) may not be UTF-8; a document always is.
    ComparisonForm{Shape::whole, "json",
                   [](Whole it, Asked) {
                     using nlohmann::json;
                     return to_json(it).dump(2, ' ', false, json::error_handler_t::replace) + "\n";
                   }},
    ComparisonForm{Shape::whole, "csv", [](Whole it, Asked) { return to_csv(it); }},
    ComparisonForm{Shape::whole, "markdown", [](Whole it, Asked) { return to_markdown(it); }},
    ComparisonForm{Shape::whole, "latex",
                   [](Whole it, Asked asked) { return to_latex(it, asked.caption); }},
    ComparisonForm{Shape::pivot, "",
                   [](Whole it, Asked asked) {
                     return pivots(it, asked, [&](const Pivot& pivot) {
                       return to_text(pivot, it, asked.colour, asked.lines);
                     });
                   }},
    ComparisonForm{Shape::pivot, "csv",
                   [](Whole it, Asked asked) {
                     return pivots(it, asked, [&](const auto& pivot) { return to_csv(pivot, it); });
                   }},
    ComparisonForm{Shape::pivot, "markdown",
                   [](Whole it, Asked asked) {
                     return pivots(it, asked,
                                   [&](const auto& pivot) { return to_markdown(pivot, it); });
                   }},
    ComparisonForm{Shape::pivot, "latex",
                   [](Whole it, Asked asked) {
                     return pivots(it, asked, [&](const auto& pivot) {
                       return to_latex(pivot, it, asked.caption);
                     });
                   }},
};

}  // namespace

std::span<const ComparisonForm> comparison_forms() { return kForms; }

const ComparisonForm& form_of(Shape shape, std::string_view option) {
  const auto found = std::ranges::find_if(kForms, [&](const ComparisonForm& form) {
    return form.shape == shape && form.option == option;
  });
  if (found == kForms.end())
    throw UsageError(fmt::format("{} has no form --{}; 'acid compare --help' lists the options",
                                 shape == Shape::pivot ? "--pivot" : "a comparison", option));
  return *found;
}

}  // namespace acid

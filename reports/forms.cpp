#include "reports/forms.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "engine/base/error.hpp"

namespace acid {
namespace {

using Shape = ComparisonForm::Shape;

// Text from elsewhere (a label) may not be UTF-8; a document always is.
std::string json_text(const Comparison& comparison, const FormRequest&) {
  return to_json(comparison).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

/// One table for each metric.
template <class Print>
std::string tables(const Comparison& comparison, const FormRequest& request, Print print) {
  std::string text;
  for (const std::string& metric : pivot_metrics(comparison, request.metrics)) {
    if (!text.empty()) text += "\n";
    text += print(pivot_of(comparison, metric, request.keys), comparison);
  }
  return text;
}

constexpr std::array kForms{
    ComparisonForm{Shape::whole, "",
                   [](const Comparison& comparison, const FormRequest& request) {
                     return to_screen(comparison, request.colour, request.command, request.metrics,
                                      request.lines);
                   }},
    ComparisonForm{Shape::whole, "details",
                   [](const Comparison& comparison, const FormRequest& request) {
                     return to_text(comparison, request.colour, request.lines);
                   }},
    ComparisonForm{Shape::whole, "json", json_text},
    ComparisonForm{
        Shape::whole, "csv",
        [](const Comparison& comparison, const FormRequest&) { return to_csv(comparison); }},
    ComparisonForm{
        Shape::whole, "markdown",
        [](const Comparison& comparison, const FormRequest&) { return to_markdown(comparison); }},
    ComparisonForm{Shape::whole, "latex",
                   [](const Comparison& comparison, const FormRequest& request) {
                     return to_latex(comparison, request.caption);
                   }},
    ComparisonForm{Shape::pivot, "",
                   [](const Comparison& comparison, const FormRequest& request) {
                     return tables(comparison, request,
                                   [&](const Pivot& pivot, const Comparison& whole) {
                                     return to_text(pivot, whole, request.colour, request.lines);
                                   });
                   }},
    ComparisonForm{Shape::pivot, "csv",
                   [](const Comparison& comparison, const FormRequest& request) {
                     return tables(comparison, request,
                                   [](const Pivot& pivot, const Comparison& whole) {
                                     return to_csv(pivot, whole);
                                   });
                   }},
    ComparisonForm{Shape::pivot, "markdown",
                   [](const Comparison& comparison, const FormRequest& request) {
                     return tables(comparison, request,
                                   [](const Pivot& pivot, const Comparison& whole) {
                                     return to_markdown(pivot, whole);
                                   });
                   }},
    ComparisonForm{Shape::pivot, "latex",
                   [](const Comparison& comparison, const FormRequest& request) {
                     return tables(comparison, request,
                                   [&](const Pivot& pivot, const Comparison& whole) {
                                     return to_latex(pivot, whole, request.caption);
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

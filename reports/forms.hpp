#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reports/pivot.hpp"

namespace acid {

/// The options of a form besides the comparison.
struct FormRequest {
  std::vector<std::string> metrics;  // as named by the person; empty: the form's own choice
  PivotKeys keys;                    // of pivots
  std::string caption = {};          // of LaTeX, replaces its own
  bool colour = false;
  TextLines lines = {};  // of text; other forms have lines of their own
  std::string command;   // the command that shows what a screen leaves out
};

/// A way in which `acid compare` prints a comparison. The command prints only what is in this list,
/// and a test looks for every kind of note in each.
struct ComparisonForm {
  enum class Shape { whole, pivot };
  Shape shape = Shape::whole;
  std::string_view option;  // "json", "csv", "markdown", "latex", "details"; empty: for a screen
  std::string (*print)(const Comparison&, const FormRequest&);
};
std::span<const ComparisonForm> comparison_forms();
/// UsageError if there is none, such as a pivot as JSON.
const ComparisonForm& form_of(ComparisonForm::Shape shape, std::string_view option);

}  // namespace acid

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "recipes/node.hpp"
#include "recipes/plan.hpp"

namespace acid {

/// Collects the mistakes in one recipe. The same finding at the same place, as from every point of
/// a sweep, is kept once. After the first 200, findings only count in reported().
class Diagnostics {
 public:
  Diagnostics(std::string file, std::string_view text, std::vector<std::string> overrides);

  /// From the line after this one on, the text is that of another file.
  void continues_with(std::string file, int after_line);

  void error(const Place& place, Problem problem);
  void error(const Place& place, std::string message, std::string remedy) {
    error(place, Problem{std::move(message), std::move(remedy)});
  }
  void warn(const Place& place, Problem problem);
  /// Adds the errors of another file that the recipe names.
  void adopt(const Diagnostics& other);

  struct Finding {
    Place place;
    Problem problem;
  };
  struct Findings {
    std::vector<Finding> errors, warnings;
  };
  /// How much has been found so far.
  struct Mark {
    std::size_t errors, warnings;
    int reported;
  };
  Mark mark() const { return {errors_.size(), warnings_.size(), reported_}; }
  /// Takes back what was found in the recipe since the mark.
  Findings withdraw(const Mark& mark);

  /// How often error() was called, with repetitions. Unchanged: no error in between.
  int reported() const { return reported_; }
  bool has_errors() const { return error_count() > 0; }
  std::size_t error_count() const { return errors_.size() + elsewhere_.size(); }
  /// In file order; those in --set texts and those without a place come last.
  std::vector<Diagnostic> errors() const;
  std::vector<Diagnostic> warnings() const;
  /// A finding as errors() gives it.
  Diagnostic locate(const Finding& finding) const;

 private:
  void add(std::vector<Finding>& findings, const Place& place, Problem problem);
  std::vector<Diagnostic> in_order(std::vector<Finding> findings) const;

  std::string file_;
  std::string next_file_;  // empty: the text is of one file
  int lines_of_first_ = 0;
  std::vector<std::string> lines_;
  std::vector<std::string> overrides_;
  std::vector<Finding> errors_, warnings_;
  std::vector<Diagnostic> elsewhere_;  // errors of other files
  int reported_ = 0;
};

}  // namespace acid

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/error.hpp"

namespace acid {

/// The operation of a node of an expression on its arguments.
enum class Operation : std::uint8_t {
  number,  // `number`
  name,    // the value of `name`
  mean,
  pull,
  mine,
  theirs,  // of message `index`
#define SIGN(operation, ...) operation,
#define FUNCTION(operation, ...) operation,
#define SCALAR(operation, ...) operation,
#include "engine/language/operations.inc"
  norm,
  dot,
  sum,  // of vectors; gives a scalar
  mix,  // the drift between events: mix(a, b, rate)
};

/// A value of a method listing (docs/METHODS.md, "The language"), as a tree.
struct Expression {
  Operation operation = Operation::number;
  double number = 0;
  std::string name = {};
  std::size_t index = 0;
  std::vector<Expression> arguments = {};
  int column = 1;  // its place in the text, from 1
};

/// target = value [if condition]
struct Statement {
  std::string target;
  Expression value;
  std::optional<Expression> condition = {};
  int column = 1;  // of the target
};

/// A text of a listing that does not follow the grammar, or has no meaning.
class ListingError : public UsageError {
 public:
  ListingError(int column, const std::string& what, std::string remedy = {})
      : UsageError(what), column_(column), remedy_(std::move(remedy)) {}
  int column() const { return column_; }  // from 1, in the text
  const std::string& remedy() const { return remedy_; }

 private:
  int column_;
  std::string remedy_;
};

/// Reads one text; each throws ListingError.
Expression parse_expression(std::string_view text);
Statement parse_statement(std::string_view text);
/// value [if condition]: a statement without a target.
Statement parse_message(std::string_view text);

/// The tree as text that parses to an equal tree: no needless blanks or parentheses, numbers with
/// all their digits.
std::string print(const Expression& expression);
std::string print(const Statement& statement);

/// mean(i), pull(i), mine(i), theirs(i).
inline bool is_heard(Operation operation) {
  return operation >= Operation::mean && operation <= Operation::theirs;
}
/// Whether the operation computes a number of up to three numbers, or so of each element.
inline bool is_of_elements(Operation operation) {
  return operation >= Operation::negate && operation <= Operation::where;
}
inline bool is_of_scalars_only(Operation operation) {
  return operation >= Operation::exp && operation <= Operation::modulo;
}
/// Whether the operation reduces vectors to a scalar.
inline bool is_reduction(Operation operation) {
  return operation >= Operation::norm && operation <= Operation::sum;
}

/// Whether `visit` is true for the expression or for a part of it.
template <class Visit>
bool any_of(const Expression& expression, const Visit& visit) {
  if (visit(expression)) return true;
  for (const Expression& argument : expression.arguments)
    if (any_of(argument, visit)) return true;
  return false;
}
template <class Visit>
bool any_of(const std::optional<Expression>& expression, const Visit& visit) {
  return expression && any_of(*expression, visit);
}
template <class Visit>
bool any_of(const Statement& statement, const Visit& visit) {
  return any_of(statement.value, visit) || any_of(statement.condition, visit);
}
inline bool contains(const Expression& expression, Operation operation) {
  return any_of(expression, [&](const Expression& one) { return one.operation == operation; });
}
/// Whether the expression, or the statement's value or condition, reads the name.
bool reads(const auto& text, std::string_view name) {
  return any_of(text, [&](const Expression& one) {
    return one.operation == Operation::name && one.name == name;
  });
}

/// The name of a function, "sqrt"; nullptr for other operations.
const char* function_name(Operation operation);
/// How many arguments an operation has. In an instruction: how many of a, b and c it reads; 1 for a
/// copy.
std::size_t arguments_of(Operation operation);

inline constexpr std::size_t kLongestStatement = 4096;  // characters
inline constexpr int kDeepestNesting = 64;
inline constexpr std::size_t kLongestName = 40;

}  // namespace acid

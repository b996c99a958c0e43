#include "engine/language/syntax.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>

#include "engine/base/names.hpp"

namespace acid {
namespace {

struct Function {
  const char* name;
  Operation operation;
  std::size_t arguments;
};
constexpr std::array kFunctions = {
#define FUNCTION(operation, name, arguments, value, text) \
  Function{name, Operation::operation, arguments},
#define SCALAR(operation, name, arguments, value) Function{name, Operation::operation, arguments},
#include "engine/language/operations.inc"
    Function{"norm", Operation::norm, 1},     Function{"dot", Operation::dot, 2},
    Function{"sum", Operation::sum, 1},       Function{"mean", Operation::mean, 1},
    Function{"pull", Operation::pull, 1},     Function{"mine", Operation::mine, 1},
    Function{"theirs", Operation::theirs, 1}, Function{"mix", Operation::mix, 3},
};

// How strongly signs bind: a comparison, a sum (2), a product, a sign before its only argument. An
// atom needs no parentheses anywhere.
constexpr int kComparison = 1, kProduct = 3, kUnary = 4, kAtom = 5;
struct Sign {
  std::string_view text;
  Operation operation;
  int strength;
};
constexpr Sign kSigns[] = {
#define SIGN(operation, sign, strength, value, text) {sign, Operation::operation, strength},
#include "engine/language/operations.inc"
};

bool begins_name(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }
bool continues_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

class ListingParser {
 public:
  explicit ListingParser(std::string_view text) : text_(text) {
    if (text.size() > kLongestStatement)
      fail(0, fmt::format("it is longer than {} characters", kLongestStatement));
  }

  Statement statement(bool has_target) {
    Statement statement;
    if (has_target) {
      skip_blanks();
      statement.column = column();
      statement.target = name();
      if (peek() != '=' || is_next("=="))
        fail(at_, "expected '=' and a value",
             fmt::format("a statement reads {} = value", statement.target));
      ++at_;
    }
    statement.value = expression();
    if (take_word("if")) statement.condition = expression();
    end();
    return statement;
  }

  Expression whole() {
    Expression value = expression();
    end();
    return value;
  }

 private:
  [[noreturn]] void fail(std::size_t at, const std::string& what, std::string remedy = {}) const {
    throw ListingError(static_cast<int>(at) + 1, what, std::move(remedy));
  }
  int column() const { return static_cast<int>(at_) + 1; }
  void skip_blanks() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r'))
      ++at_;
  }
  char peek() {
    skip_blanks();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool is_next(std::string_view word) {
    skip_blanks();
    return text_.substr(at_).starts_with(word);
  }
  bool take_word(std::string_view word) {
    if (!is_next(word)) return false;
    const std::size_t after = at_ + word.size();
    if (after < text_.size() && continues_name(text_[after])) return false;
    at_ = after;
    return true;
  }
  void expect(char wanted) {
    if (peek() != wanted) fail(at_, fmt::format("expected '{}'", wanted));
    ++at_;
  }
  void end() {
    if (peek() == '\0' && at_ == text_.size()) return;
    fail(at_, "expected an operator or the end");
  }

  std::string name() {
    if (!begins_name(peek())) fail(at_, "expected a name");
    const std::size_t first = at_;
    while (at_ < text_.size() && continues_name(text_[at_])) ++at_;
    const std::string_view name = text_.substr(first, at_ - first);
    if (name.size() > kLongestName)
      fail(first, fmt::format("a name has at most {} characters", kLongestName));
    if (name == "if") fail(first, "expected a value before 'if'");
    return std::string(name);
  }

  Expression expression() {
    if (++depth_ > kDeepestNesting)
      fail(at_, fmt::format("it is nested more than {} deep", kDeepestNesting));
    Expression value = binary(kComparison);
    --depth_;
    return value;
  }

  // The longest one, since a sign may begin as another.
  const Sign* next_sign(int strength) {
    const Sign* longest = nullptr;
    for (const Sign& sign : kSigns)
      if (sign.strength == strength && is_next(sign.text) &&
          (longest == nullptr || sign.text.size() > longest->text.size()))
        longest = &sign;
    return longest;
  }

  // Operators of a strength associate to the left; at most one comparison is allowed.
  Expression binary(int strength) {
    const auto part = [&] { return strength == kProduct ? unary() : binary(strength + 1); };
    Expression left = part();
    while (const Sign* const sign = next_sign(strength)) {
      const int column = left.column;
      at_ += sign->text.size();
      Expression right = part();
      Expression both{.operation = sign->operation, .column = column};
      both.arguments.push_back(std::move(left));
      both.arguments.push_back(std::move(right));
      left = std::move(both);
      if (strength == 1) break;
    }
    return left;
  }

  Expression unary() {
    if (peek() != '-') return atom();
    const int at = column();
    ++at_;
    if (++depth_ > kDeepestNesting)
      fail(at_, fmt::format("it is nested more than {} deep", kDeepestNesting));
    Expression negated{.operation = Operation::negate, .column = at};
    negated.arguments.push_back(unary());
    --depth_;
    return negated;
  }

  Expression atom() {
    const char next = peek();
    const int at = column();
    if (next == '(') {
      ++at_;
      Expression inner = expression();
      expect(')');
      return inner;
    }
    if (is_digit(next) || next == '.') return number();
    if (!begins_name(next)) fail(at_, "expected a value");
    std::string word = name();
    if (peek() != '(') return {.operation = Operation::name, .name = std::move(word), .column = at};
    return call(word, at);
  }

  Expression number() {
    const std::size_t first = at_;
    double value = 0;
    const char* const end = text_.data() + text_.size();
    const auto [after, error] = std::from_chars(text_.data() + first, end, value);
    at_ = static_cast<std::size_t>(after - text_.data());
    if (error != std::errc() || !std::isfinite(value) || (after != end && continues_name(*after)))
      fail(first, "expected a number");
    return {.operation = Operation::number, .number = value, .column = static_cast<int>(first) + 1};
  }

  Expression call(const std::string& word, int at) {
    const auto function =
        std::ranges::find_if(kFunctions, [&](const Function& one) { return word == one.name; });
    if (function == kFunctions.end()) unknown_function(word, at);
    Expression made{.operation = function->operation, .column = at};
    expect('(');
    do made.arguments.push_back(expression());
    while (peek() == ',' && ++at_ > 0);
    expect(')');
    if (made.arguments.size() != function->arguments)
      throw ListingError(at,
                         fmt::format("{}() takes {} argument{}, not {}", word, function->arguments,
                                     function->arguments == 1 ? "" : "s", made.arguments.size()));
    return is_heard(made.operation) ? message(std::move(made), word) : made;
  }

  static Expression message(Expression call, const std::string& word) {
    const Expression& which = call.arguments.front();
    if (which.operation != Operation::number || which.number != std::floor(which.number) ||
        which.number > 1e6)
      throw ListingError(which.column, fmt::format("{}() takes the number of a message", word),
                         fmt::format("write {}(0) for the first", word));
    call.index = static_cast<std::size_t>(which.number);
    call.arguments.clear();
    return call;
  }

  [[noreturn]] static void unknown_function(const std::string& word, int at) {
    throw ListingError(at, fmt::format("there is no function '{}'", word),
                       did_you_mean(word, names_of(kFunctions)));
  }

  const std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

const Sign* sign_of(Operation operation) {
  const Sign* const found = std::ranges::find(kSigns, operation, &Sign::operation);
  return found == std::end(kSigns) ? nullptr : found;
}

const Function* function_of(Operation operation) {
  const auto* const found = std::ranges::find(kFunctions, operation, &Function::operation);
  return found == kFunctions.end() ? nullptr : found;
}

int strength_of(const Expression& expression) {
  const Sign* const sign = sign_of(expression.operation);
  return sign == nullptr ? kAtom : sign->strength;
}

std::string in_parentheses_if(bool wanted, const Expression& expression) {
  return wanted ? fmt::format("({})", print(expression)) : print(expression);
}

}  // namespace

Expression parse_expression(std::string_view text) { return ListingParser(text).whole(); }
Statement parse_statement(std::string_view text) { return ListingParser(text).statement(true); }
Statement parse_message(std::string_view text) { return ListingParser(text).statement(false); }

const char* function_name(Operation operation) {
  const Function* const function = function_of(operation);
  return function == nullptr ? nullptr : function->name;
}

std::size_t arguments_of(Operation operation) {
  if (const Sign* const sign = sign_of(operation)) return sign->strength == kUnary ? 1 : 2;
  const Function* const function = function_of(operation);
  return function == nullptr ? 1 : function->arguments;
}

std::string print(const Expression& expression) {
  const auto& arguments = expression.arguments;
  switch (expression.operation) {
    case Operation::number:
      return fmt::format("{}", expression.number);
    case Operation::name:
      return expression.name;
    case Operation::mean:
    case Operation::pull:
    case Operation::mine:
    case Operation::theirs:
      return fmt::format("{}({})", function_name(expression.operation), expression.index);
    case Operation::negate:
      return fmt::format("-{}",
                         in_parentheses_if(strength_of(arguments[0]) < kUnary, arguments[0]));
    default:
      break;
  }
  if (const Sign* const sign = sign_of(expression.operation)) {
    const bool compares = sign->strength == 1;
    const int left = strength_of(arguments[0]), right = strength_of(arguments[1]);
    return fmt::format(
        "{} {} {}",
        in_parentheses_if(left < sign->strength || (compares && left == 1), arguments[0]),
        sign->text, in_parentheses_if(right <= sign->strength, arguments[1]));
  }
  std::vector<std::string> printed;
  for (const Expression& argument : arguments) printed.push_back(print(argument));
  return fmt::format("{}({})", function_name(expression.operation), fmt::join(printed, ", "));
}

std::string print(const Statement& statement) {
  std::string text = print(statement.value);
  if (!statement.target.empty()) text = fmt::format("{} = {}", statement.target, text);
  if (statement.condition) text += fmt::format(" if {}", print(*statement.condition));
  return text;
}

}  // namespace acid

#include "engine/language/round.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <string>

#include "engine/base/error.hpp"
#include "engine/language/interpreter.hpp"
#include "engine/language/syntax.hpp"

namespace acid {
namespace {

constexpr std::int64_t kMostPhases = 100'000;
constexpr std::size_t kLongestRound = 1000;  // characters

class Parser {
 public:
  Parser(std::string_view text, const Round::Parameters& parameters)
      : text_(text), parameters_(parameters) {}

  std::vector<Phase> all() {
    std::vector<Phase> phases = items();
    if (at_ < text_.size()) fail("expected gradient, step, say, hear or 'count * (...)'");
    return phases;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw UsageError(fmt::format("the round \"{}\", column {}: {}", text_, at_ + 1, what));
  }

  char peek() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  bool take(char wanted) {
    if (peek() != wanted) return false;
    ++at_;
    return true;
  }

  std::string_view word() {
    peek();
    const std::size_t first = at_;
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_'))
      ++at_;
    return text_.substr(first, at_ - first);
  }

  std::vector<Phase> items() {
    std::vector<Phase> phases;
    while (peek() != '\0' && peek() != ')') {
      const std::size_t before = at_;
      const std::string_view name = word();
      if (name == "gradient") {
        phases.push_back(Phase::gradient);
      } else if (name == "step") {
        phases.push_back(Phase::step);
      } else if (name == "say") {
        phases.push_back(Phase::say);
      } else if (name == "hear") {
        phases.push_back(Phase::hear);
      } else {
        at_ = before;
        repeat(phases);
      }
      if (phases.size() > static_cast<std::size_t>(kMostPhases))
        fail(fmt::format("it has more than {} parts", kMostPhases));
    }
    return phases;
  }

  void repeat(std::vector<Phase>& phases) {
    constexpr const char* kExpected = "expected gradient, step, say, hear or 'count * (...)'";
    const std::size_t before = at_;
    if (peek() != '(') {
      word();
      const bool counts = peek() == '*';
      at_ = before;
      if (!counts) fail(kExpected);
    }
    const double value = std::round(term());
    if (!take('*') || !take('(')) {
      at_ = before;
      fail(kExpected);
    }
    if (!(value >= 0 && value <= kMostPhases)) {
      at_ = before;
      fail(fmt::format("it repeats {:g} times", value));
    }
    const std::vector<Phase> inner = items();
    if (!take(')')) fail("expected ')'");
    if (value * static_cast<double>(inner.size()) > kMostPhases)
      fail(fmt::format("it has more than {} parts", kMostPhases));
    for (int times = 0; times < static_cast<int>(value); ++times)
      phases.insert(phases.end(), inner.begin(), inner.end());
  }

  // A formula in parentheses, in the language of statements.
  double formula() {
    const std::size_t first = at_;
    int open = 0;
    do {
      if (at_ == text_.size()) fail("expected ')'");
      open += text_[at_] == '(' ? 1 : text_[at_] == ')' ? -1 : 0;
      ++at_;
    } while (open > 0);
    const std::size_t after = at_;
    at_ = first + 1;
    double value = 0;
    try {
      value = value_of(parse_expression(text_.substr(at_, after - 1 - at_)));
    } catch (const ListingError& error) {
      at_ += static_cast<std::size_t>(error.column()) - 1;
      fail(error.what());
    }
    at_ = after;
    return value;
  }

  double value_of(const Expression& value) const {
    if (value.operation == Operation::number) return value.number;
    if (value.operation == Operation::name) return parameter(value.name);
    if (is_heard(value.operation) || is_reduction(value.operation) ||
        value.operation == Operation::mix)
      throw ListingError(value.column, "a count is of numbers");
    std::array<double, 3> arguments{};
    for (std::size_t k = 0; k < value.arguments.size(); ++k)
      arguments[k] = value_of(value.arguments[k]);
    return compute(value.operation, arguments[0], arguments[1], arguments[2]);
  }

  double parameter(std::string_view name) const {
    if (!parameters_) fail(fmt::format("there is no parameter '{}'", name));
    return parameters_(name);
  }

  double term() {
    if (peek() == '(') return formula();
    const std::string_view name = word();
    if (name.empty()) fail("expected a number or a parameter");
    if (std::isdigit(static_cast<unsigned char>(name[0])) != 0) {
      std::int64_t number = 0;
      const auto end = std::from_chars(name.data(), name.data() + name.size(), number);
      if (end.ec != std::errc() || end.ptr != name.data() + name.size())
        fail(fmt::format("'{}' is no number", name));
      return static_cast<double>(number);
    }
    return parameter(name);
  }

  const std::string_view text_;
  const Round::Parameters& parameters_;
  std::size_t at_ = 0;
};

/// Whether the hear that belongs to the say at `at` comes after the next gradient.
bool is_open_across(const std::vector<Phase>& phases, std::size_t at) {
  for (std::size_t k = at; k < phases.size(); ++k) {
    if (phases[k] == Phase::gradient) return true;
    if (phases[k] == Phase::hear) return false;
  }
  return false;
}

/// Adds a step before every gradient but the first, and at the end.
std::vector<Phase> with_steps(const std::vector<Phase>& phases) {
  std::vector<Phase> all;
  bool computed = false;
  for (const Phase phase : phases) {
    if (phase == Phase::gradient && computed) all.push_back(Phase::step);
    computed = computed || phase == Phase::gradient;
    all.push_back(phase);
  }
  if (computed) all.push_back(Phase::step);
  return all;
}

}  // namespace

Round::Round(std::string_view text, const Parameters& parameters, bool served) {
  if (text.size() > kLongestRound)
    throw UsageError(fmt::format("a round has more than {} characters", kLongestRound));
  std::vector<Phase> phases = Parser(text, parameters).all();
  if (served && !has(phases, Phase::step)) phases = with_steps(phases);
  const auto refuse = [&](const char* what) {
    throw UsageError(fmt::format("the round \"{}\": {}", text, what));
  };
  bool computed = false, said = false;
  for (const Phase phase : phases) {
    const bool of_gradient = phase == Phase::gradient || phase == Phase::step;
    bool& begun = of_gradient ? computed : said;
    if (begun == (phase == Phase::gradient || phase == Phase::say))
      refuse(of_gradient ? "gradients and steps take turns" : "say and hear take turns");
    begun = !begun;
  }
  if (phases.empty() || std::count(phases.begin(), phases.end(), Phase::gradient) == 0)
    refuse("it has no gradient");
  if (computed) refuse("its last gradient has no step");
  if (said) refuse("its last say has no hear");
  cut(phases);
}

// A leg begins before a gradient, or before a say that is open across that gradient.
void Round::cut(const std::vector<Phase>& phases) {
  for (std::size_t k = 0; k < phases.size(); ++k) {
    const bool begins =
        phases[k] == Phase::gradient || (phases[k] == Phase::say && is_open_across(phases, k));
    if (legs_.empty() || (begins && has(legs_.back(), Phase::step))) legs_.emplace_back();
    legs_.back().push_back(phases[k]);
  }
  for (const Leg& leg : legs_) {
    said_.push_back(said_.back() + std::count(leg.begin(), leg.end(), Phase::say));
    heard_.push_back(heard_.back() + std::count(leg.begin(), leg.end(), Phase::hear));
  }
}

std::int64_t Round::before(const std::vector<std::int64_t>& counts, std::int64_t legs) const {
  const auto count = static_cast<std::int64_t>(legs_.size());
  return legs / count * counts.back() + counts[static_cast<std::size_t>(legs % count)];
}

bool has(const Leg& leg, Phase phase) {
  return std::find(leg.begin(), leg.end(), phase) != leg.end();
}

bool comes_before(const Leg& leg, Phase one, Phase other) {
  const auto first = std::find(leg.begin(), leg.end(), one);
  return first != leg.end() && std::find(first, leg.end(), other) != leg.end();
}

}  // namespace acid

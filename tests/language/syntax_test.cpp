#include "engine/language/syntax.hpp"

#include "tests/catch.hpp"

using namespace acid;

TEST_CASE(
    "expressions are printed with no more parentheses than they need, and read the same again") {
  const std::pair<const char*, const char*> cases[] = {
      {"a+b*c", "a + b * c"},
      {"(a+b)*c", "(a + b) * c"},
      {"a-(b-c)", "a - (b - c)"},
      {"a-b-c", "a - b - c"},
      {"a/(b*c)", "a / (b * c)"},
      {"-a*b", "-a * b"},
      {"-(a*b)", "-(a * b)"},
      {"-(-a)", "--a"},
      {"2e-3", "0.002"},
      {".5", "0.5"},
      {"1e300*x", "1e+300 * x"},
      {"where(a<b,sqrt(c),-1)", "where(a < b, sqrt(c), -1)"},
      {"(a<b)<c", "(a < b) < c"},
      {"a<(b<c)", "a < (b < c)"},
      {"mean(0)-theirs(1)", "mean(0) - theirs(1)"},
      {"  mod ( k , 3 ) == 0 ", "mod(k, 3) == 0"},
  };
  for (const auto& [written, printed] : cases) {
    INFO(written);
    CHECK(print(parse_expression(written)) == printed);
    CHECK(print(parse_expression(printed)) == printed);
  }
}

TEST_CASE("a statement has a target, a value and perhaps a condition") {
  const Statement statement = parse_statement("m = beta * m if mod(k, 2) == 0");
  CHECK(statement.target == "m");
  REQUIRE(statement.condition.has_value());
  CHECK(print(statement) == "m = beta * m if mod(k, 2) == 0");
  CHECK(reads(statement, "beta"));
  CHECK(reads(statement, "k"));
  CHECK_FALSE(reads(statement, "mod"));
  CHECK(parse_message("x - h").target.empty());
}

TEST_CASE("what is no expression is refused at its column") {
  struct Case {
    const char* text;
    int column;
    const char* message;
  };
  const std::string deep(70, '('), is_long = "x = " + std::string(5000, '1');
  const Case cases[] = {
      {"x = (x + 1", 11, "expected ')'"},
      {"x = ", 5, "expected a value"},
      {"x", 2, "expected '='"},
      {"x == 1", 3, "expected '='"},
      {"3 = x", 1, "expected a name"},
      {"if = x", 1, "expected a value before 'if'"},
      {"x = y z", 7, "expected an operator or the end"},
      {"x = 1.2.3", 8, "expected"},
      {"x = 3x", 5, "expected a number"},
      {"x = 1e999", 5, "expected a number"},
      {"x = foo(1)", 5, "there is no function 'foo'"},
      {"x = sqr(1)", 5, "there is no function 'sqr'"},
      {"x = min(1)", 5, "min() takes 2 arguments, not 1"},
      {"x = mean(y)", 10, "mean() takes the number of a message"},
      {"x = mean(0.5)", 10, "mean() takes the number of a message"},
      {"x = a < b < c", 11, "expected an operator or the end"},
      {"x = 1 +", 8, "expected a value"},
      {"x = $", 5, "expected a value"},
      {"x = \xC3\xA9", 5, "expected a value"},
  };
  for (const Case& one : cases) {
    INFO(one.text);
    try {
      parse_statement(one.text);
      FAIL("it was read");
    } catch (const ListingError& error) {
      CHECK(error.column() == one.column);
      CHECK(std::string(error.what()).find(one.message) != std::string::npos);
    }
  }
  CHECK_THROWS_AS(parse_expression(deep), ListingError);
  CHECK_THROWS_AS(parse_expression(std::string(100, '-') + "x"), ListingError);
  CHECK_THROWS_AS(parse_statement(is_long), ListingError);
  CHECK_THROWS_AS(parse_statement("a" + std::string(50, 'b') + " = 1"), ListingError);
}

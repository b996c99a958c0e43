#include "reports/numbers.hpp"

#include <cmath>
#include <limits>

#include "tests/catch.hpp"

using namespace acid;

TEST_CASE("numbers for people have four digits and no exponent where none is needed") {
  CHECK(format_number(0.94123) == "0.9412");
  CHECK(format_number(1.5) == "1.5");
  CHECK(format_number(0) == "0");
  CHECK(format_number(-0.0) == "0");
  CHECK(format_number(123456.7) == "123457");
  CHECK(format_number(1.23456e-7) == "1.235e-07");
  CHECK(format_number(-2e9, 3) == "-2.00e+09");
  CHECK(format_number(std::nan("")) == "nan");
  CHECK(format_number(-std::numeric_limits<double>::infinity()) == "-inf");
}

TEST_CASE("a mean is not written more precisely than its half-width") {
  CHECK(format_plus_minus(0.941234, 0.009876) == "0.9412 ± 0.0099");
  CHECK(format_plus_minus(123.456, 7.89) == "123.5 ± 7.9");
  CHECK(format_plus_minus(1234.6, 321) == "1235 ± 321");
  CHECK(format_plus_minus(1.234e-7, 4.5e-9) == "(1.234 ± 0.045)e-07");
  CHECK(format_plus_minus(0.5, 0) == "0.5 ± 0");
  CHECK(format_plus_minus(std::nan(""), 1) == "nan ± 1");
  CHECK(format_plus_minus(123456, 1e-9) == "123456.00 ± 1.0e-09");
}

TEST_CASE("a missing interval is printed as such") {
  CHECK(format_estimate(estimate(std::vector<double>{0.5})) == "0.5 ± n/a");
  CHECK(format_estimate({}) == "–");
  CHECK(format_p(std::nullopt) == "–");
  CHECK(format_p(0.25) == "0.25");
  CHECK(format_p(0.03125) == "0.031");
  CHECK(format_p(1e-5) == "< 0.001");
}

TEST_CASE("bytes, seconds and counts come in units a person would choose") {
  CHECK(format_bytes(1.5e9) == "1.5 GB");
  CHECK(format_bytes(0) == "0 B");
  CHECK(format_seconds(0.0123) == "12.3 ms");
  CHECK(format_seconds(0) == "0 s");
  CHECK(format_seconds(5400) == "1.5 h");
  CHECK(format_count(20000) == "20k");
  CHECK(format_count(950) == "950");
  CHECK(format_count(1.5e6) == "1.5M");
}

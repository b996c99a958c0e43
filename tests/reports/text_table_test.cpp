#include "reports/text_table.hpp"

#include "tests/catch.hpp"

using namespace acid;

TEST_CASE("display width counts columns, not bytes") {
  CHECK(terminal_columns("ad-psgd") == 7);
  CHECK(terminal_columns("A²CiD²") == 6);
  CHECK(terminal_columns("α̃") == 1);
  CHECK(terminal_columns("実験") == 4);
  CHECK(terminal_columns("\xFF\xC3") == 2);
  CHECK(terminal_columns("") == 0);
}

TEST_CASE("shortening cuts between characters and marks the cut") {
  CHECK(shortened("A²CiD²", 6) == "A²CiD²");
  CHECK(shortened("A²CiD²", 4) == "A²C…");
  CHECK(shortened("実験実験", 4) == "実…");
  CHECK(shortened("α̃β", 1) == "…");
}

TEST_CASE("wrapping breaks at spaces and leaves long words whole") {
  CHECK(wrapped("one two three", 7, "  ") == "one two\n  three");
  CHECK(wrapped("incomprehensibilities a", 5) == "incomprehensibilities\na");
  CHECK(wrapped("", 5).empty());
}

TEST_CASE("a table aligns by display width and its first column gives way") {
  TextTable table;
  table.alignment = {TextTable::Align::left, TextTable::Align::right};
  table.rows = {{"A²CiD²", "1"}, {"b", "10"}};
  CHECK(table.str() == "A²CiD²   1\nb       10\n");
  table.rows = {{"a rather long name for one row", "12345678"}};
  table.total = 20;
  CHECK(table.str() == "a rather …  12345678\n");
  CHECK(table.fits());
  CHECK_FALSE(table.fits_whole());
  table.total = 17;
  CHECK_FALSE(table.fits());
}

TEST_CASE("a CSV line quotes what needs it, a Markdown cell stays one cell") {
  CHECK(csv_line({"a", "", "b,c", "say \"d\"", "e\nf"}) ==
        "a,,\"b,c\",\"say \"\"d\"\"\",\"e\nf\"\n");
  CHECK(markdown_cell("a|b\nc\\") == "a\\|b c\\\\");
}

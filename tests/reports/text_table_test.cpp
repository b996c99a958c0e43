#include "reports/text_table.hpp"

#include "tests/catch.hpp"
#include "tests/reports/synthetic.hpp"

using namespace acid;
using synthetic::has;

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
  using Texts = std::vector<std::string>;
  CHECK(shortened_apart({"short", "a long label", "short"}, 6) ==
        Texts{"short", "a lon…", "short"});
  CHECK(shortened_apart({"ad-psgd (lr 0.1)", "ad-psgd (lr 0.2)"}, 9) ==
        Texts{"ad-psg…1)", "ad-psg…2)"});
  CHECK(shortened_apart({"the same 1 the same", "the same 2 the same"}, 6) ==
        Texts{"…1 th…", "…2 th…"});
  CHECK(shortened_apart({"größer1", "größer2"}, 4) == Texts{"gr…1", "gr…2"});
  // Long ones need no more than a look at each character.
  const std::string zeros(400'000, '0');
  CHECK(shortened_apart({zeros + "1", zeros + "2"}, 6) == Texts{"0000…1", "0000…2"});
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
  table.lines.columns = 20;
  CHECK(table.str() == "a rather …  12345678\n");
  CHECK(table.fits());
  CHECK_FALSE(table.fits_whole());
  table.lines.columns = 17;
  CHECK_FALSE(table.fits());
}

TEST_CASE("a CSV line quotes what needs it, a Markdown cell stays one cell") {
  CHECK(csv_line({"a", "", "b,c", "say \"d\"", "e\nf"}) ==
        "a,,\"b,c\",\"say \"\"d\"\"\",\"e\nf\"\n");
  CHECK(markdown_cell("a|b\nc\\") == "a\\|b c\\\\");
  CHECK(markdown_cell("eval_loss of *A* _b_ [c](d) & &lt;") ==
        "eval_loss of \\*A\\* \\_b\\_ [c]\\(d) &amp; &amp;lt;");
}
TEST_CASE("a spreadsheet takes no cell of text for a formula, and numbers stay numbers") {
  CHECK(csv_line({"=HYPERLINK(\"http://x\")", "@SUM(1)", "+1+1", "-x", "\t=1", "\r=1"}) ==
        "\"'=HYPERLINK(\"\"http://x\"\")\",'@SUM(1),'+1+1,'-x,'\t=1,\"'\r=1\"\n");
  CHECK(csv_line({"-1", "-0.5e-300", "-inf", "-nan", "1=2", "a-b", "-1e999"}) ==
        "-1,-0.5e-300,-inf,-nan,1=2,a-b,-1e999\n");
}

TEST_CASE("a terminal gets no control character, no change of direction and no broken UTF-8") {
  CHECK(seen_on_terminal("A²CiD² 実験\tx\n") == "A²CiD² 実験\tx\n");
  CHECK(seen_on_terminal("\x1b[1;31mred\x1b[0m") == "\x1b[1;31mred\x1b[0m");
  CHECK(seen_on_terminal("\x1b]0;pwned\x07") == "\\u001b]0;pwned\\u0007");
  CHECK(seen_on_terminal("\x1b[2J\r\x7f") == "\\u001b[2J\\u000d\\u007f");
  CHECK(seen_on_terminal(std::string("a\0b", 3)) == "a\\u0000b");
  CHECK(seen_on_terminal("\u202e\u2066\u200f\u009b") == "\\u202e\\u2066\\u200f\\u009b");
  CHECK(seen_on_terminal("\x9b\xff") == "\\ufffd\\ufffd");
  CHECK(seen_on_terminal("\x1b[") == "\\u001b[");
}

TEST_CASE("a table is as wide as its terminal, and cuts nothing in a file") {
  TextTable table;
  table.alignment = {TextTable::Align::left, TextTable::Align::right};
  const std::string label(90, 'a');
  table.rows = {{label, "1"}};
  CHECK(table.str() == label.substr(0, 76) + "…  1\n");
  CHECK(has(table.str(), "…"));
  table.lines = {.columns = 120};
  CHECK(table.str() == label + "  1\n");
  table.lines = {.columns = 80, .cut = false};
  CHECK(table.str() == label + "  1\n");
  CHECK_FALSE(table.fits_whole());
  CHECK(TextLines{.columns = 60}.prose() == 60);
  CHECK(TextLines{.columns = 250}.prose() == 100);
}

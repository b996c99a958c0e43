#include "engine/base/utf8.hpp"
#include "tests/catch.hpp"
#include "tests/recipes/recipe.hpp"

namespace acid::test {
namespace {

// The source line and the caret line of a rendering.
std::pair<std::string, std::string> shown(const Diagnostic& diagnostic) {
  const std::string text = render(diagnostic);
  const std::size_t first = text.find('\n') + 1;
  const std::size_t second = text.find('\n', first) + 1;
  return {text.substr(first, second - first - 1),
          text.substr(second, text.find('\n', second) - second)};
}

}  // namespace

TEST_CASE("an error shows place, line, underline and remedy") {
  const Diagnostic error = only_error_of("[optimizer]\nmomentun = 0.9 # x\n");
  CHECK(render(error) ==
        "test.toml:2:1: error: unknown key 'momentun' in optimizer of kind 'sgd'\n"
        "    2 | momentun = 0.9 # x\n"
        "      | ^~~~~~~~\n"
        "      = did you mean 'momentum'?\n");
  CHECK(render(error, "warning").find("warning: ") != std::string::npos);
}

TEST_CASE("what has no place is shown without a line") {
  const Diagnostic missing{.file = "a.toml",
                           .source_line = {},
                           .message = "the section [task] is missing",
                           .remedy = "add it"};
  CHECK(render(missing) == "a.toml: error: the section [task] is missing\n      = add it\n");
}

TEST_CASE("the caret stands below its character, also after wide and combining ones") {
  Diagnostic diagnostic{.file = "a.toml",
                        .line = 1,
                        .column = 5,
                        .length = 2,
                        .source_line = "漢e\xCC\x81=xyz",
                        .message = "m",
                        .remedy = "r"};
  // Columns on the screen: 漢 takes two, e one, its accent none, '=' one.
  CHECK(shown(diagnostic).second == "      |     ^~");
  diagnostic.source_line = "\tab\x1b[2Jxyz";
  CHECK(shown(diagnostic).first == "    1 |  ab?[2Jxyz");
  diagnostic.source_line = "ab\xff\xfe";
  CHECK(shown(diagnostic).first == "    1 | ab??");
}

TEST_CASE("long lines are cut around the caret") {
  const std::string value(5000, 'v');
  const auto errors =
      errors_of(completed("name = { x = \"" + value + "\" }\nseeds = [\"" + value + "\"]\n"));
  REQUIRE(errors.size() == 2);
  for (const Diagnostic& error : errors) {
    CHECK(error.message.size() < 200);
    const auto [line, caret] = shown(error);
    CHECK(printable(line).size() < 120);
    CHECK(printable(caret).size() <= printable(line).size());
    CHECK(line[caret.find('^')] == (error.line == 1 ? '{' : '"'));
  }
}

TEST_CASE("an unknown name with nothing near lists what is known") {
  CHECK_THAT(only_error_of("[topology]\nkind = \"xyzzyplugh\"\n").remedy,
             ContainsSubstring("ring") && ContainsSubstring("star"));
}

TEST_CASE("windows line ends and a byte order mark do not shift places") {
  const auto errors = errors_of("\xEF\xBB\xBFseeds = [0]\r\nnmae = 1\r\n" + completed(""));
  REQUIRE(errors.size() == 1);
  CHECK(errors[0].line == 2);
  CHECK(errors[0].column == 1);
  CHECK(errors[0].source_line == "nmae = 1");
}

TEST_CASE("clipping keeps whole characters") {
  CHECK(clip("漢字漢字", 3) == "漢字…");
  CHECK(clip("漢字", 2) == "漢字");
  CHECK(clip("", 5).empty());
  CHECK(is_valid_utf8("aé漢🙂"));
  CHECK_FALSE(is_valid_utf8("\xC0\x80"));
  CHECK_FALSE(is_valid_utf8("\xED\xA0\x80"));
  CHECK_FALSE(is_valid_utf8("\xE6\xBC"));
  CHECK(to_utf8(printable("aé漢🙂")) == "aé漢🙂");
}

}  // namespace acid::test

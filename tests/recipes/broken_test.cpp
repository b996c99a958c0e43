#include "tests/recipes/broken.hpp"

#include <algorithm>

#include "tests/catch.hpp"
#include "tests/recipes/recipe.hpp"

namespace acid::test {
namespace {

struct Marked {
  std::string text;
  int line = 0, column = 0, length = 1;
};

std::size_t characters(const std::string& text) {
  std::size_t count = 0;
  for (const char c : text) count += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  return count;
}

Marked without_marks(std::string text) {
  const std::string open = "«", close = "»";
  Marked marked;
  const std::size_t begin = text.find(open);
  if (begin != std::string::npos) {
    text.erase(begin, open.size());
    const std::size_t end = text.find(close);
    REQUIRE(end != std::string::npos);
    text.erase(end, close.size());
    const std::string before = text.substr(0, begin);
    marked.line = 1 + static_cast<int>(std::count(before.begin(), before.end(), '\n'));
    const std::size_t line_begin = before.rfind('\n') + 1;
    marked.column = 1 + static_cast<int>(characters(before.substr(line_begin)));
    marked.length = static_cast<int>(characters(text.substr(begin, end - begin)));
  }
  marked.text = text;
  return marked;
}

}  // namespace

TEST_CASE("every broken recipe is refused at the exact place, with a reason and a remedy") {
  CHECK(broken_recipes().size() >= 60);
  for (const Broken& broken : broken_recipes()) {
    const Marked marked = without_marks(broken.recipe);
    INFO(broken.name << "\n" << marked.text);
    try {
      compile_recipe("test.toml", completed(marked.text));
      FAIL_CHECK("it compiled");
    } catch (const RecipeError& error) {
      INFO(error.what());
      CHECK(error.code() == Exit::usage);
      CHECK(error.diagnostics().size() == 1);
      const Diagnostic& diagnostic = error.diagnostics()[0];
      CHECK(diagnostic.line == marked.line);
      if (marked.line > 0) {
        CHECK(diagnostic.column == marked.column);
        CHECK(diagnostic.length == marked.length);
      }
      CHECK_THAT(diagnostic.message, ContainsSubstring(broken.message));
      CHECK_FALSE(diagnostic.remedy.empty());
      CHECK(diagnostic.file == "test.toml");
    }
  }
}

TEST_CASE("all mistakes of a recipe are reported at once, in the order of the file") {
  const auto errors = errors_of(
      "seeds = [1, -1]\n"
      "nmae = \"x\"\n"
      "[task]\ndataset = \"glyfs\"\nmodel = \"linaer\"\nbatch_size = \"many\"\n"
      "[optimizer]\nmomentum = 1.5\nlearning_rat = 1\n"
      "[optimizer.schedule]\nkind = \"step\"\nmilestones = [0.7, 0.5]\n"
      "[workers]\ncount = 0\n"
      "[execution]\ndriver = \"mip\"\n"
      "[[algorithms]]\nkind = \"ad-psgd\"\norder = \"x\"\n");
  const std::vector<int> lines = {1, 2, 4, 5, 6, 8, 9, 12, 14, 16, 19, 0};
  REQUIRE(errors.size() == lines.size());
  for (std::size_t i = 0; i < lines.size(); ++i) CHECK(errors[i].line == lines[i]);
  CHECK_THAT(errors.back().message, ContainsSubstring("[budget] is missing"));
}

TEST_CASE("an empty recipe says what a recipe needs") {
  const auto errors = errors_of("");
  REQUIRE(errors.size() == 4);  // task, workers.count, budget, algorithms
  for (const Diagnostic& error : errors) {
    CHECK(error.line == 0);
    CHECK_FALSE(error.remedy.empty());
  }
}

TEST_CASE("recipes of absurd depth, width or length are refused like any other") {
  const auto repeated = [](const std::string& text, int count) {
    std::string all;
    for (int k = 0; k < count; ++k) all += text;
    return all;
  };
  std::string keys;
  for (int k = 0; k < 20'000; ++k) keys += "k" + std::to_string(k) + " = 1\n";
  CHECK(errors_of(keys).size() == 200);  // more are not kept
  for (const std::string& text :
       {repeated("a.", 200'000) + "a = 1", "[" + repeated("a.", 200'000) + "a]\nb = 1",
        "{ " + repeated("'a' . ", 200'000) + "a = 1 }", "x = " + repeated("[", 200'000),
        "x = " + repeated("{ a.b.c.d.e.f.g.h = ", 1000), repeated("a", 300'000) + " = 1",
        "x = {y=\"\"\"\"\"\"\"\", " + repeated("a.", 200'000) + "a = 1 }"})
    CHECK_FALSE(errors_of(text).empty());
  CHECK_FALSE(errors_of("", {"task." + repeated("a.", 200'000) + "a=1"}).empty());
  CHECK_FALSE(errors_of("", {"task={" + repeated("a.", 200'000) + "a=1}"}).empty());
  CHECK_FALSE(errors_of("[sweep]\n\"task" + repeated(".a", 200'000) + "\" = [1]").empty());
}

TEST_CASE("dots in texts, comments and numbers are not keys") {
  CHECK_NOTHROW(
      compiled("name = \"a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q.r.s.t.u.v\"\n"
               "# a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q.r.s.t.u.v ...................\n"
               "[streams] # .\ninit = 1 # a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q.r.s.t\n"));
  CHECK_NOTHROW(
      compiled("[optimizer.schedule]\nkind = \"step\"\nmilestones = [0.01, 0.02, 0.03, "
               "0.04, 0.05, 0.06, 0.07, 0.08, 0.09, 0.1, 0.11, 0.12, 0.13, 0.14, 0.15, "
               "0.16, 0.17, 0.18, 0.19, 0.2]\n"));
  CHECK_THROWS_WITH(compiled("name = '''\n\"a.b.c.d.e.f.g.h.i.j.k.l.m.n.o.p.q.r = 1\n'''\n"),
                    ContainsSubstring("control character") && !ContainsSubstring("16 parts"));
}

TEST_CASE("what is no TOML says what to do about it") {
  for (const auto& [text, remedy] :
       {std::pair("name = 1\nname = 2", "remove one of the two"),
        std::pair("[a]\n[a]", "remove one of the two"),
        std::pair("a = 99999999999999999999", "write a smaller one"),
        std::pair("a = ring", "a text in quotes"), std::pair("a = 1 2", "fix the syntax here")}) {
    INFO(text);
    const auto errors = errors_of(text);
    REQUIRE(errors.size() == 1);
    CHECK_THAT(errors[0].remedy, ContainsSubstring(remedy));
  }
}

TEST_CASE("a recipe cut off at any byte is refused or compiled, never a crash") {
  const std::string path = SOURCE_ROOT "/recipes/quickstart.toml";
  const std::string whole = load_recipe(path).recipe_text;
  int compiled_count = 0;
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    INFO("first " << size << " bytes");
    try {
      compile_recipe(path, whole.substr(0, size));
      ++compiled_count;
    } catch (const RecipeError& error) {
      REQUIRE_FALSE(error.diagnostics().empty());
    }
  }
  CHECK(compiled_count > 0);
}

TEST_CASE("a recipe with any one byte changed is refused or compiled, never a crash") {
  const std::string path = SOURCE_ROOT "/recipes/consensus-ring.toml";
  const std::string whole = load_recipe(path).recipe_text;
  for (std::size_t at = 0; at < whole.size(); ++at)
    for (const char byte : {'\xff', '=', '"', '0'}) {
      std::string text = whole;
      text[at] = byte;
      INFO("byte " << at);
      try {
        compile_recipe(path, text);
      } catch (const RecipeError& error) {
        REQUIRE_FALSE(std::string(error.what()).empty());
      }
    }
}

}  // namespace acid::test

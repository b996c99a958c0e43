// The sizes of classes: a class that is spread over several files is still one class.
#include <cctype>
#include <regex>

#include "tests/catch.hpp"
#include "tests/tidy/sources.hpp"

namespace {

// About 25 and 20, without constructors, destructors, operators and deleted functions.
constexpr int kMostMethods = 28;
constexpr int kMostMembers = 22;

struct ClassSize {
  std::string name;
  int methods = 0, members = 0;
};

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

bool is_space(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

// The place after the literal or the preprocessor line that begins at i; i if none begins there.
std::size_t behind_noise(const std::string& text, std::size_t i) {
  const auto behind = [&](const std::string& end, std::size_t from) {
    const std::size_t found = text.find(end, from);
    return found == std::string::npos ? text.size() : found + end.size();
  };
  const bool after_word = i > 0 && is_word(text[i - 1]);
  if (text.compare(i, 2, "//") == 0) return behind("\n", i) - 1;
  if (text.compare(i, 2, "/*") == 0) return behind("*/", i + 2);
  if (text.compare(i, 2, "R\"") == 0 && !after_word) {
    const std::size_t open = text.find('(', i);
    return behind(")" + text.substr(i + 2, open - i - 2) + "\"", open);
  }
  if (text[i] == '"' || (text[i] == '\'' && !after_word)) {
    std::size_t end = i + 1;
    while (end < text.size() && text[end] != text[i]) end += text[end] == '\\' ? 2 : 1;
    return end + 1;
  }
  if (text[i] == '#' && text.find_last_not_of(" ", i == 0 ? 0 : i - 1) != std::string::npos &&
      (i == 0 || text[text.find_last_not_of(" ", i - 1)] == '\n')) {
    std::size_t end = behind("\n", i);
    while (end < text.size() && text[end - 2] == '\\') end = behind("\n", end);
    return end - 1;
  }
  return i;
}

// The text without comments, preprocessor lines and the contents of literals.
std::string bare(const std::vector<std::string>& lines) {
  std::string text, rest;
  for (const std::string& line : lines) text += line + '\n';
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t behind = behind_noise(text, i);
    if (behind == i) rest += text[i++];
    if (behind > i) rest += ' ';
    i = std::max(i, behind);
  }
  return rest;
}

// The place after the bracket that closes the one at `open`. Of < and > only those count that
// clang-format sets as brackets: without a space before them.
std::size_t behind_bracket(const std::string& text, std::size_t open) {
  const bool angle = text[open] == '<';
  const std::string opening = angle ? "<" : "([{", closing = angle ? ">" : ")]}";
  int depth = 0;
  for (std::size_t i = open; i < text.size(); ++i) {
    if (opening.find(text[i]) != std::string::npos) ++depth;
    if (closing.find(text[i]) != std::string::npos && --depth == 0) return i + 1;
  }
  return text.size();
}

// The declarations of a class, without the contents of their brackets.
std::vector<std::string> declarations(const std::string& body) {
  std::vector<std::string> list;
  std::string now;
  const auto end = [&] {
    list.push_back(now);
    now.clear();
  };
  for (std::size_t i = 0; i < body.size();) {
    const char c = body[i];
    if (c == ';') {
      end();
      ++i;
    } else if (c == '(' || c == '[' || c == '{') {
      now += c == '(' ? "()" : c == '[' ? "[]" : "{}";
      i = behind_bracket(body, i);
      std::size_t next = i;
      while (next < body.size() && is_space(body[next])) ++next;
      const bool goes_on = next < body.size() && std::string(",;{(.").find(body[next]) < 5;
      // The body of a function ends the declaration; after an initialiser it goes on.
      if (c == '{' && !goes_on && now.find('(') != std::string::npos) end();
    } else {
      now += c;
      ++i;
    }
  }
  return list;
}

// Counts one declaration of the class `size.name`.
void count(std::string text, ClassSize& size) {
  static const std::regex noise(
      "\\b(public|private|protected) *:"
      "|\\b(GUARDED_BY|REQUIRES_LOCK|EXCLUDES_LOCK|ACID_THREAD_ATTRIBUTE|alignas|explicit|noexcept)"
      "\\(\\)|\\[\\[?\\]?\\]");
  static const std::regex other("^(using|typedef|friend|static_assert|enum)\\b");
  static const std::regex type("^(class|struct|union)\\b[^(]*?(\\{\\} *(.*)| \\w+)$");
  static const std::regex is_operator("\\boperator\\b");
  static const std::regex blanks("\\s+");
  const auto trim = [&] {
    text.erase(0, text.find_first_not_of(' '));
    text.erase(text.find_last_not_of(' ') + 1);
    return !text.empty();
  };
  text = std::regex_replace(std::regex_replace(text, noise, ""), blanks, " ");
  while (trim() && tidy::starts_with(text, "template"))
    text.erase(0, behind_bracket(text, text.find('<')));
  std::smatch match;
  if (text.empty() || std::regex_search(text, other)) return;
  if (std::regex_search(text, match, type)) {
    const std::string declared = match[3];
    if (!declared.empty()) size.members += 1 + static_cast<int>(std::ranges::count(declared, ','));
    return;
  }
  int declared = 1;
  bool initialiser = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '<' && i > 0 && text[i - 1] != ' ') i = behind_bracket(text, i) - 1;
    if (text[i] == '=' || text[i] == '{') initialiser = true;
    if (text[i] == ',') {
      initialiser = false;
      ++declared;
    }
    if (text[i] != '(' || initialiser) continue;
    std::size_t begin = i;
    while (begin > 0 && is_word(text[begin - 1])) --begin;
    const bool itself = text.substr(begin, i - begin) == size.name;  // or its destructor
    const bool deleted = text.ends_with("delete");
    if (!itself && !deleted && !std::regex_search(text, is_operator)) ++size.methods;
    return;
  }
  if (!tidy::starts_with(text, "static ") && !std::regex_search(text, is_operator))
    size.members += declared;
}

// The name of the class whose head begins at i, after `class` or `struct`; i moves to its body.
// Empty when it is only a declaration or a parameter.
std::string class_head(const std::string& text, std::size_t& i) {
  std::string name;
  bool bases = false;
  while (i < text.size() && text[i] != '{') {
    if (text[i] == '(' || text[i] == '<') {
      i = behind_bracket(text, i);
    } else if (is_word(text[i])) {
      const std::size_t begin = i;
      while (i < text.size() && is_word(text[i])) ++i;
      const std::string word = text.substr(begin, i - begin);
      if (!bases && word != "final") name = word;
    } else {
      if (!bases && std::string(";,>)=*&").find(text[i]) != std::string::npos) return {};
      bases = bases || text.compare(i, 2, ": ") == 0;
      ++i;
    }
  }
  return i < text.size() ? name : std::string{};
}

// The sizes of all classes and structs in the text, including nested ones.
std::vector<ClassSize> class_sizes(const std::vector<std::string>& lines) {
  static const std::regex keyword("\\b(enum )?(class|struct)\\b");
  std::vector<ClassSize> sizes;
  const std::string text = bare(lines);
  for (std::sregex_iterator it(text.begin(), text.end(), keyword), none; it != none; ++it) {
    if ((*it)[1].matched) continue;
    std::size_t open = static_cast<std::size_t>(it->position() + it->length());
    ClassSize size{class_head(text, open)};
    if (size.name.empty()) continue;
    const std::string body = text.substr(open + 1, behind_bracket(text, open) - open - 2);
    for (const std::string& declaration : declarations(body)) count(declaration, size);
    sizes.push_back(size);
  }
  return sizes;
}

}  // namespace

TEST_CASE("the tidy test counts methods and data members as a reader would") {
  const std::vector<ClassSize> sizes = class_sizes({
      "// class Nothing { int a; };",
      "template <class T, class U>",
      "class alignas(64) Sample final : public Base<T>, private Other {",
      " public:",
      "  explicit Sample(int a) : a_(a), b_{a} {",
      "    if (a > 1) call_();",
      "  }",
      "  ~Sample();",
      "  Sample(const Sample&) = delete;",
      "  bool operator==(const Sample&) const = default;",
      "  int a() const { return a_; }  // a(); b_",
      "  template <class F>",
      "  void each(F&& f) REQUIRES_LOCK(m_) {",
      "    for (const auto& [k, v] : map_) f(k, v);",
      "  }",
      "  static int most(const std::map<int, int>& of = {});",
      "  enum class Kind { x, y };",
      "  using Task = std::function<void(int lane)>;",
      "  struct Inner {",
      "    int p = 0, q = f(1, 2);",
      "    double r[2] = {1, 2};",
      "    void run();",
      "  } inner_, other_;",
      "  struct Later;",
      "",
      " private:",
      "  static constexpr int kMost = 3;",
      "  std::function<void(int, int)> call_;",
      "  std::map<int, std::string> map_ GUARDED_BY(m_), old_ GUARDED_BY(m_){};",
      "  const char* text_ = \"int b(); };\";",
      "  Mutex m_;",
      "};",
      "void f(struct Sample* s, class Other& o);",
  });
  REQUIRE(sizes.size() == 2);
  CHECK(sizes[0].name == "Sample");
  CHECK(sizes[0].methods == 3);
  CHECK(sizes[0].members == 7);
  CHECK(sizes[1].name == "Inner");
  CHECK(sizes[1].methods == 1);
  CHECK(sizes[1].members == 3);
}

TEST_CASE("no class is too large to be kept in mind") {
  int classes = 0;
  for (const tidy::Source& source : tidy::sources()) {
    if (tidy::starts_with_any(source.path, {"tests/", "bench/"})) continue;
    for (const ClassSize& size : class_sizes(source.lines)) {
      ++classes;
      if (size.methods > kMostMethods || size.members > kMostMembers)
        FAIL_CHECK(source.path << ": " << size.name << " has " << size.methods << " methods and "
                               << size.members << " data members");
    }
  }
  CHECK(classes > 500);
}

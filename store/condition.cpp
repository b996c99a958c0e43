#include "store/condition.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "engine/base/error.hpp"
#include "store/store.hpp"

namespace acid {
namespace {

bool begins_word(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool in_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
}
// Whether c may be in text without quotes: random-regular, data/a9a.txt.
bool in_text(char c) { return in_word(c) || c == '-' || c == '/' || c == '~' || c == '+'; }

std::string lowered(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

bool is_state(const std::string& word) {
  try {
    state_from_name(word);
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// Words with which a value of SQL's own begins.
bool begins_value(const std::string& word) {
  constexpr std::array<std::string_view, 8> kWords = {"null", "true",   "false",  "case",
                                                      "cast", "exists", "select", "not"};
  return std::ranges::find(kWords, word) != kWords.end();
}

bool is_pattern_word(const std::string& word) { return word == "like" || word == "glob"; }

std::string sql_text(std::string_view words) {
  std::string out = "'";
  for (const char c : words) out += c == '\'' ? "''" : std::string(1, c);
  return out + "'";
}

/// Why the text, put between parentheses, could be more than one expression; empty when it cannot.
/// Brackets must match outside of quotes, and nothing may hide or end the closing parenthesis.
std::string why_not_one_expression(const std::string& text) {
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const char next = i + 1 < text.size() ? text[i + 1] : '\0';
    if (c == '\'' || c == '"' || c == '`' || c == '[') {
      i = text.find(c == '[' ? ']' : c, i + 1);
      if (i == std::string::npos) return "a quote is not closed";
    } else if (c == '(') {
      ++depth;
    } else if (c == ')') {
      if (--depth < 0) return "a parenthesis closes that was not opened";
    } else if (c == ';' || c == '\0') {
      return "it holds more than one statement";
    } else if ((c == '-' && next == '-') || (c == '/' && next == '*')) {
      return "it holds a comment";
    } else if (c == '?' || c == ':' || c == '@' || c == '$') {
      return "it holds a parameter";
    }
  }
  return depth == 0 ? "" : "a parenthesis is not closed";
}

class ConditionParser {
 public:
  ConditionParser(const std::string& text, const ConditionNames& names)
      : text_(text), names_(names) {}

  RunCondition parse() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      const bool compared = is_compared();
      if (c == '[' && compared && left_ == Left::setting)
        list();
      else if (c == '\'' || c == '"' || c == '`' || c == '[')
        quoted();
      else if (begins_word(c))
        word();
      else if (compared && (c == '/' || c == '~' || (c == '.' && !begins_fraction())))
        value(taken(in_text));
      else
        other();
    }
    return std::move(condition_);
  }

 private:
  /// What a value would be compared with.
  enum class Left { none, state, column, setting };

  bool is_column(const std::string& name) const {
    return std::ranges::find(names_.columns, name) != names_.columns.end();
  }
  bool is_key(const std::string& name) const {
    const std::size_t dot = name.find('.');
    return dot != std::string::npos && names_.sections.contains(name.substr(0, dot));
  }
  /// Whether ".5" comes, a number.
  bool begins_fraction() const {
    return at_ + 1 < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_ + 1])) != 0;
  }
  /// What the SQL so far ends with: a word in lower case, signs that belong together (">="), or
  /// any other character.
  std::string before() const {
    const std::string& sql = condition_.sql;
    const std::size_t end = sql.find_last_not_of(" \t\n") + 1;  // 0: there is nothing
    std::size_t begin = end;
    const auto take_back = [&](const auto& belongs) {
      while (begin > 0 && belongs(sql[begin - 1])) --begin;
    };
    take_back(in_word);
    if (begin == end)
      take_back([](char c) { return std::string_view("=<>!").find(c) != std::string_view::npos; });
    if (begin == end && end > 0) --begin;
    return lowered(sql.substr(begin, end - begin));
  }
  /// Whether a value can stand here that `left_` may be equal to, or a pattern.
  bool is_compared() const {
    if (left_ == Left::none) return false;
    const std::string last = before();
    if (last == "(" || last == ",") return !are_values_.empty() && are_values_.back();
    constexpr std::array<std::string_view, 6> kEqual = {"=", "==", "!=", "<>", "is", "not"};
    return std::ranges::find(kEqual, last) != kEqual.end() || is_pattern_word(last);
  }
  template <class Holds>
  std::string taken(Holds holds) {
    const std::size_t begin = at_;
    while (at_ < text_.size() && holds(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }
  void copy(const std::string& piece, Left left) {
    condition_.sql += piece;
    left_ = left;
  }
  void value(const std::string& words) { condition_.sql += sql_text(words); }

  void quoted() {
    const std::size_t begin = at_;
    at_ = text_.find(text_[begin] == '[' ? ']' : text_[begin], begin + 1) + 1;
    const std::string piece = text_.substr(begin, at_ - begin);
    const std::string words = piece.substr(1, piece.size() - 2);
    if (piece[0] == '"' && is_compared() && is_value(words)) return value(words_of(words));
    if (piece[0] == '"' && is_key(words)) return setting(words);
    if (piece[0] != '\'' && lowered(words) == "role") condition_.names_role = true;
    copy(piece, piece[0] == '\'' ? left_ : Left::none);
  }

  /// A list of a recipe, [16, 32], as JSON has it.
  void list() {
    std::string json = taken([](char c) { return c != ']'; }) + "]";
    ++at_;
    std::erase(json, ' ');
    value(json);
  }

  void word() {
    const std::size_t begin = at_;
    const std::string name = taken(in_word), lower = lowered(name);
    const bool calls = text_.find_first_not_of(' ', at_) != std::string::npos &&
                       text_[text_.find_first_not_of(' ', at_)] == '(';
    if (left_ != Left::none &&
        (lower == "in" || lower == "is" || lower == "not" || is_pattern_word(lower)))
      return copy(name, left_);
    if (is_compared() && !begins_value(lower) && !calls && is_value(name)) {
      at_ = begin;
      return value(words_of(taken(in_text)));
    }
    if (is_key(name)) return setting(name);
    if (lower == "role") condition_.names_role = true;
    copy(name, lower == "state" ? Left::state : is_column(lower) ? Left::column : Left::none);
  }

  /// Whether a word beside what it is compared with is text, and no name.
  bool is_value(const std::string& name) const {
    switch (left_) {
      case Left::none:
        return false;
      case Left::state:
        return is_state(lowered(name));
      case Left::column:
        return !is_column(lowered(name)) && !is_key(name);
      case Left::setting:
        return !is_key(name);
    }
    return false;
  }
  std::string words_of(const std::string& words) const {
    return left_ == Left::state ? lowered(words) : words;
  }

  void setting(const std::string& key) {
    condition_.keys.push_back(key);
    const std::size_t dot = key.find('.');
    const bool of_graph = key.substr(0, dot) == kGraphSection;
    condition_.names_graph = condition_.names_graph || of_graph;
    const std::string from =
        of_graph ? fmt::format("coalesce({}, settings -> '$.{}')", kGraph, kGraphSection)
                 : "settings";
    const std::string path = sql_text(json_path(of_graph ? key.substr(dot + 1) : key));
    copy(fmt::format("iif({0} -> {1} IN ('[]', '{{}}'), 'none', {0} ->> {1})", from, path),
         Left::setting);
  }

  void other() {
    const char c = text_[at_++];
    if (c == '(') are_values_.push_back(left_ != Left::none && before() == "in");
    if (c == ')' && !are_values_.empty()) are_values_.pop_back();
    condition_.sql += c;
    if (std::string_view("=!<>(), \t\n").find(c) == std::string_view::npos) left_ = Left::none;
  }

  const std::string& text_;
  const ConditionNames& names_;
  std::size_t at_ = 0;
  Left left_ = Left::none;
  std::vector<bool> are_values_;  // of each open parenthesis: whether it holds those of an IN
  RunCondition condition_;
};

}  // namespace

std::string json_path(std::string_view key) {
  std::string path = "$";
  for (std::size_t at = 0; at <= key.size();) {
    const std::size_t end = std::min(key.find('.', at), key.size());
    path += fmt::format(".\"{}\"", key.substr(at, end - at));
    at = end + 1;
  }
  return path;
}

RunCondition parse_condition(const std::string& text, const ConditionNames& names) {
  if (const std::string reason = why_not_one_expression(text); !reason.empty())
    reject_condition(text, reason, names.columns);
  return ConditionParser(text, names).parse();
}

void reject_condition(const std::string& text, const std::string& reason,
                      const std::vector<std::string>& columns) {
  if (columns.empty())
    throw UsageError(fmt::format(
        "'{}' is no formula: {}; expected one expression over the keys of a recipe, such as \"2 * "
        "workers.count\"",
        text, reason));
  throw UsageError(fmt::format(
      "cannot filter runs by '{}': {}; expected one SQL expression such as \"state = 'finished' "
      "AND workers > 4\" over settings, as in \"topology.kind = ring\", and the columns {}",
      text, reason, fmt::join(columns, ", ")));
}

}  // namespace acid

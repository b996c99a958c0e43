// Recipes: any text, and any --set after it, compiles or is refused with every mistake shown. The
// parts of the input up to each zero byte are the recipe and its overrides. Only files in a folder
// of this process can be named.
#include <cctype>
#include <fstream>

#include "engine/base/utf8.hpp"
#include "recipes/parse.hpp"
#include "recipes/plan.hpp"
#include "recipes/sweep.hpp"
#include "tests/fuzz/input.hpp"

namespace acid::fuzz {
namespace {

constexpr double kMostWorkers = 64;
constexpr double kMostWhenDrawn = 100;  // numbers of a recipe whose edges are drawn to plan it
constexpr std::size_t kMostPoints = 32;

std::vector<std::string> parts_of(std::string_view text) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == '\0')
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

// A slash, literal or escaped, could lead out of the folder.
bool stays_inside(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower.find('/') == std::string::npos && lower.find("002f") == std::string::npos;
}

double largest(const Node& node) {
  const bool is_number = node.type == Node::Type::integer || node.type == Node::Type::number;
  double most = is_number ? std::abs(node.scalar.get<double>()) : 0;
  for (const Node& child : node.children) most = std::max(most, largest(child));
  return most;
}

bool says(const Node& node, std::string_view word) {
  if (node.is_text() && node.text() == word) return true;
  return std::any_of(node.children.begin(), node.children.end(),
                     [&](const Node& child) { return says(child, word); });
}

// The largest number below a key whose last part is "count".
double workers(const Node& node, std::string_view key) {
  if (key.ends_with("count")) return largest(node);
  double most = 0;
  for (const Node& child : node.children) most = std::max(most, workers(child, child.key));
  return most;
}

// Compiling may take long if a recipe asks for much; that is no finding.
bool is_small(const std::string& text, const std::vector<std::string>& overrides) {
  Diagnostics ignored("", text, overrides);
  std::vector<Assignment> given;
  if (auto root = parse_recipe(text, ignored)) {
    if (sweep_points(root->find("sweep"), ignored).size() > kMostPoints) return false;
    given.push_back({"", std::move(*root)});
  }
  for (const std::string& override : overrides)
    if (auto parsed = parse_override(override, 0, ignored))
      given.push_back({parsed->key, std::move(parsed->value)});
  bool draws = false;
  double most = 0;
  for (const Assignment& assignment : given) {
    if (workers(assignment.value, assignment.key) > kMostWorkers) return false;
    if (assignment.key.starts_with("sweep")) return false;
    draws = draws || says(assignment.value, "realised");
    most = std::max(most, largest(assignment.value));
  }
  return !draws || most <= kMostWhenDrawn;
}

void compile(const Folder& folder, const std::string& text,
             const std::vector<std::string>& overrides) {
  try {
    const Plan plan = compile_recipe(folder.path("recipe.toml"), text, overrides);
    ACID_ASSERT(!plan.runs.empty(), "a plan without runs");
    static_cast<void>(to_json(plan).dump());  // throws if not UTF-8
    for (const Diagnostic& warning : plan.warnings) render(warning, "warning");
  } catch (const RecipeError& error) {
    ACID_ASSERT(!error.diagnostics().empty(), "refused without a reason");
    ACID_ASSERT(is_valid_utf8(error.what()), "not UTF-8: {}", error.what());
    for (const Diagnostic& diagnostic : error.diagnostics())
      ACID_ASSERT(!diagnostic.message.empty() && !diagnostic.remedy.empty(), "{}", error.what());
  }
}

// Writes files that recipes can name.
void fill(const Folder& folder) {
  std::ofstream(folder.path("graph.txt")) << "0 1\n1 2 0.5\n2 3\n3 0\n";
  std::ofstream(folder.path("data.svm")) << "+1 1:0.5 3:1\n-1 2:0.25\n+1 1:1\n-1 3:2\n";
}

}  // namespace
}  // namespace acid::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace acid::fuzz;
  static const Folder folder;
  [[maybe_unused]] static const bool filled = (fill(folder), true);
  const std::string_view input = text_of({data, size});
  if (!stays_inside(input)) return 0;
  std::vector<std::string> overrides = parts_of(input);
  const std::string text = std::move(overrides.front());
  overrides.erase(overrides.begin());
  if (overrides.size() <= 4 && is_small(text, overrides)) compile(folder, text, overrides);
  return 0;
}

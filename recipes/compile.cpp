#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>

#include "engine/base/digest.hpp"
#include "engine/base/names.hpp"
#include "engine/methods/method.hpp"
#include "recipes/checker.hpp"
#include "recipes/comparison_section.hpp"
#include "recipes/machine_use.hpp"
#include "recipes/methods.hpp"
#include "recipes/parse.hpp"
#include "recipes/reference.hpp"
#include "recipes/refused_cells.hpp"
#include "recipes/resolve.hpp"
#include "recipes/search.hpp"
#include "recipes/sections.hpp"
#include "recipes/seeds.hpp"
#include "recipes/sweep.hpp"
#include "recipes/utf8.hpp"

namespace acid {
namespace {

// After this many different mistakes no more are looked for.
constexpr std::size_t kEnoughErrors = 100;

class Compiler {
 public:
  Compiler(const std::string& path, Diagnostics& diagnostics)
      : out_(diagnostics),
        sections_(run_sections()),
        checker_(diagnostics, std::filesystem::path(path).parent_path()),
        machines_(std::filesystem::path(path).parent_path(), diagnostics) {}

  void compile(const Node& root, Plan& plan);

 private:
  void check_top(const Node& root);
  void require_showable(const Node& text, const char* key);
  void read_name(const Node& root, Plan& plan);
  void read_seeds(const Node& root);
  void check_labels(const Node& root);
  void warn_of_unused_methods(const Node& root, const Plan& plan);
  void compile_point(Node root, const SweepPoint& point, Plan& plan);
  void compile_algorithm(const Node& point, const Node& algorithm, std::size_t index, Plan& plan);
  std::vector<PlannedRun> runs_of(Node settings, Node algorithm, const std::string& label,
                                  std::span<const std::uint64_t> seeds,
                                  Diagnostics::Findings& refusals);
  bool is_refused(const Node& algorithm, const std::string& label, Diagnostics::Findings refusals);
  std::string usual_label(std::string_view algorithm) const;
  void compile_cell(const Node& settings, const Node& algorithm, const std::string& label,
                    std::size_t index, Plan& plan);
  bool has_equal_points(const std::vector<SweepPoint>& points, const Node& algorithm,
                        PlannedSearch& search);
  void add(std::vector<PlannedRun> runs, std::size_t index, const Place& place,
           std::vector<PlannedRun>& to);

  Diagnostics& out_;
  std::vector<std::string> sections_;
  Checker checker_;
  Machines machines_;
  Facts facts_;
  UnusedKeys unused_;
  std::vector<std::uint64_t> seeds_;
  std::optional<SearchTable> search_;
  const SweepPoint* point_ = nullptr;  // whose cells are compiled
  RefusedCells refused_;
  bool skips_ = false;                    // refused cells are left out
  std::set<std::string> broken_methods_;  // of the recipe; their mistakes are reported already
  struct Owner {
    std::size_t algorithm;  // index of its [[algorithms]] entry
    std::size_t run;        // index in the list that it was added to
  };
  std::map<std::string, Owner> owners_;  // by digest
};

void Compiler::compile(const Node& root, Plan& plan) {
  check_top(root);
  read_name(root, plan);
  read_seeds(root);
  checker_.add_algorithms(recipe_methods(root.find("methods"), checker_, broken_methods_));
  check_labels(root);
  std::optional<Node> sweep;
  if (const Node* const given = root.find("sweep")) sweep = *given;
  skips_ = sweep && take_skip_inapplicable(*sweep, out_);
  const Node* const swept = sweep ? &*sweep : nullptr;
  search_ = read_search(root.find("search"), seeds_, swept, out_);
  if (search_) plan.search.emplace().seeds = search_->seeds;
  for (const SweepPoint& point : sweep_points(swept, out_)) {
    if (out_.error_count() > kEnoughErrors || (!skips_ && refused_.reasons() > kEnoughErrors))
      break;
    point_ = &point;
    compile_point(root, point, plan);
  }
  refused_.settle(swept, skips_, plan, out_);
  plan.comparison = read_comparison(root.find("comparison"), plan, checker_);
  unused_.warn(out_);
  warn_of_unused_methods(root, plan);
}

void Compiler::warn_of_unused_methods(const Node& root, const Plan& plan) {
  for (const AlgorithmEntry* own : checker_.algorithms())
    if (std::ranges::none_of(plan.runs,
                             [&](const PlannedRun& run) { return run.algorithm == own->name; }))
      out_.warn(root.find("methods")->place,
                {fmt::format("no run uses the method '{}'", own->name),
                 fmt::format("add [[algorithms]] with kind = \"{}\"", own->name)});
}

void Compiler::check_top(const Node& root) {
  std::vector<std::string> known = names_of(top_keys().fields);
  known.emplace_back("algorithms");
  known.insert(known.end(), sections_.begin(), sections_.end());
  for (const Node& child : root.children)
    if (std::find(known.begin(), known.end(), child.key) == known.end())
      checker_.unknown(child.key_place, "key", child.key, known);
}

void Compiler::read_name(const Node& root, Plan& plan) {
  const Node* name = root.find("name");
  if (name == nullptr || !checker_.is_type(name, Node::Type::text, "name", "text in quotes"))
    return;
  if (name->text().empty())
    out_.error(name->place, "name is empty", "name the experiment, or remove the key");
  require_showable(*name, "name");
  plan.name = name->text();
}

// Names and labels are printed on terminals, on pages and in file names.
void Compiler::require_showable(const Node& text, const char* key) {
  if (is_showable(text.text())) return;
  out_.error(
      text.place,
      fmt::format("{} has a control character, or one that changes the direction of writing", key),
      "write it with characters that can be seen");
}

void Compiler::read_seeds(const Node& root) {
  seeds_ = {1};
  const Node* const seeds = root.find("seeds");
  if (seeds == nullptr) return;
  constexpr const char* kRemedy =
      "list different whole numbers from 0: seeds = [1, 2, 3], or seeds = \"1-30\"";
  if (!seeds->is_list() && !seeds->is_text())
    out_.error(seeds->place,
               fmt::format("seeds must be a list of numbers, or a range in quotes, not {}",
                           describe(*seeds)),
               kRemedy);
  else if (seeds->is_list() && seeds->children.empty())
    out_.error(seeds->place, "seeds is empty", kRemedy);
  else
    seeds_ = acid::read_seeds(*seeds, kRemedy, out_);
}

// Tables and charts distinguish algorithms by label, so labels must differ.
void Compiler::check_labels(const Node& root) {
  const Node* const list = root.find("algorithms");
  if (list == nullptr || !list->is_list()) return;
  std::map<std::string, const Node*> called;
  for (const Node& algorithm : list->children) {
    const Node* const kind = algorithm.is_table() ? algorithm.find("kind") : &algorithm;
    const AlgorithmEntry* const entry =
        kind != nullptr && kind->is_text() ? find_algorithm(kind->text()) : nullptr;
    const Node* const label = algorithm.find("label");
    if (label == nullptr || !label->is_text()) {
      if (entry != nullptr) called.emplace(entry->label, nullptr);
      continue;
    }
    for (const AlgorithmEntry& other : algorithm_catalog())
      if (&other != entry && (label->text() == other.label || label->text() == other.name))
        out_.error(label->place,
                   fmt::format("'{}' is what another method is called", clip(label->text(), 40)),
                   "choose a label that says what this algorithm is");
  }
  for (const Node& algorithm : list->children) {
    const Node* const label = algorithm.find("label");
    if (label == nullptr || !label->is_text()) continue;
    if (!called.emplace(label->text(), label).second)
      out_.error(label->place,
                 fmt::format("another algorithm is called '{}' too", clip(label->text(), 40)),
                 "give each a label of its own");
  }
}

void Compiler::compile_point(Node root, const SweepPoint& point, Plan& plan) {
  std::vector<std::string> roots = sections_;
  roots.emplace_back("algorithms");
  apply_assignments(root, point, Origin::sweep, roots, out_);
  const Node* algorithms = root.find("algorithms");
  const bool is_list = checker_.is_type(algorithms, Node::Type::list, "algorithms",
                                        "a list of tables, [[algorithms]]");
  if (algorithms != nullptr && is_list && !algorithms->children.empty()) {
    for (std::size_t i = 0; i < algorithms->children.size(); ++i)
      compile_algorithm(root, algorithms->children[i], i, plan);
    return;
  }
  if (is_list)
    out_.error(
        algorithms == nullptr ? Place{} : algorithms->place, "the recipe has no [[algorithms]]",
        fmt::format("add [[algorithms]] with kind = \"{}\", or several to compare", kBaseline));
  // The other sections are checked all the same.
  Node any;
  any.type = Node::Type::text;
  any.scalar = kBaseline;
  compile_algorithm(root, any, 0, plan);
}

void Compiler::compile_algorithm(const Node& point, const Node& algorithm, std::size_t index,
                                 Plan& plan) {
  Node tree;
  for (const Node& child : point.children)
    if (std::find(sections_.begin(), sections_.end(), child.key) != sections_.end())
      tree.children.push_back(child);
  std::string label;
  if (const Node* given = algorithm.find("label");
      given != nullptr && checker_.is_type(given, Node::Type::text, "label", "text in quotes"))
    label = given->text(), require_showable(*given, "label");
  if (const Node* set = algorithm.find("set");
      set != nullptr && checker_.is_type(set, Node::Type::table, "set", "a table of dotted keys"))
    apply_assignments(tree, set_assignments(*set), Origin::algorithm_set, sections_, out_);
  const Node* const kind = algorithm.is_table() ? algorithm.find("kind") : &algorithm;
  if (kind != nullptr && kind->is_text() && broken_methods_.contains(kind->text())) return;
  if (search_) return compile_cell(tree, algorithm, label, index, plan);
  if (const Node* const own = algorithm.find("search"))
    out_.error(own->key_place, "an algorithm has a search, and the recipe has none",
               "add [search] with seeds of its own");
  Diagnostics::Findings refusals;
  std::vector<PlannedRun> runs = runs_of(std::move(tree), algorithm, label, seeds_, refusals);
  if (!is_refused(algorithm, label, std::move(refusals)))
    add(std::move(runs), index, algorithm.place, plan.runs);
}

// Notes a cell with refusals.
bool Compiler::is_refused(const Node& algorithm, const std::string& label,
                          Diagnostics::Findings refusals) {
  if (refusals.errors.empty()) return false;
  const Node* const kind = algorithm.is_table() ? algorithm.find("kind") : &algorithm;
  const std::string name = kind->text();
  refused_.add(*point_, algorithm.place, name, label.empty() ? usual_label(name) : label,
               std::move(refusals));
  return true;
}

std::string Compiler::usual_label(std::string_view algorithm) const {
  for (const AlgorithmEntry* own : checker_.algorithms())
    if (own->name == algorithm) return std::string(own->label);
  return std::string(find_algorithm(algorithm)->label);
}

// No runs after a mistake, which is reported, or where parts that are sound do not go together:
// `refusals` says why, and is not reported.
std::vector<PlannedRun> Compiler::runs_of(Node settings, Node algorithm, const std::string& label,
                                          std::span<const std::uint64_t> seeds,
                                          Diagnostics::Findings& refusals) {
  algorithm.key = "algorithm";
  for (const char* elsewhere : {"label", "set", "search"}) algorithm.erase(elsewhere);
  settings.children.push_back(std::move(algorithm));
  const Machines::Use machine = machines_.apply_to(settings);
  const Draft draft = check_sections(checker_, settings);
  const Diagnostics::Mark before = out_.mark();
  if (machine.refusal) out_.error(machine.place, *machine.refusal);
  std::vector<PlannedRun> runs = resolve(settings, draft, label, seeds, facts_, unused_, out_);
  if (!runs.empty()) machines_.look_at_model(machine, runs.front());
  if (out_.reported() > before.reported && (draft.broken.empty() || skips_)) {
    Diagnostics::Findings found = out_.withdraw(before);
    if (!draft.broken.empty()) return runs;  // a mistake refuses the recipe, whatever else is
    std::ranges::move(found.errors, std::back_inserter(refusals.errors));
    std::ranges::move(found.warnings, std::back_inserter(refusals.warnings));
  }
  return runs;
}

// An algorithm that tries more values has an advantage.
bool Compiler::has_equal_points(const std::vector<SweepPoint>& points, const Node& algorithm,
                                PlannedSearch& search) {
  const Node* const own = algorithm.find("search");
  const Place& place = own != nullptr ? own->key_place : search_->place;
  if (points.empty() || points.front().empty()) {
    if (!out_.has_errors())
      out_.error(place, "the search has no values to try",
                 "name some: optimizer.learning_rate = [0.05, 0.1, 0.2]");
    return false;
  }
  if (search.values == 0) search.values = points.size();
  if (search.values == points.size()) return true;
  out_.error(place,
             fmt::format("one algorithm would try {} values, another {}: more values are an "
                         "advantage",
                         search.values, points.size()),
             "give every algorithm the same number of values");
  return false;
}

// Adds one algorithm at one setting, with every value of the search and all seeds.
void Compiler::compile_cell(const Node& settings, const Node& algorithm, const std::string& label,
                            std::size_t index, Plan& plan) {
  PlannedSearch& search = *plan.search;
  const Node* const own = algorithm.find("search");
  const std::vector<SweepPoint> points =
      own != nullptr ? own_search_points(*own, out_) : search_->points;
  if (!has_equal_points(points, algorithm, search)) return;
  std::vector<std::uint64_t> seeds = search_->seeds;
  seeds.insert(seeds.end(), seeds_.begin(), seeds_.end());
  std::vector<std::string> cell;
  std::vector<PlannedRun> tries, finals;
  Diagnostics::Findings refusals;
  for (const SweepPoint& point : points) {
    Node tried_settings = settings, tried = algorithm;
    for (std::string& key : apply_search_point(tried_settings, tried, point, sections_, out_))
      if (std::ranges::find(search.keys, key) == search.keys.end())
        search.keys.push_back(std::move(key));
    std::vector<PlannedRun> runs =
        runs_of(std::move(tried_settings), tried, label, seeds, refusals);
    if (runs.empty()) continue;
    search.metric = search_metric(runs.front(), *search_, out_);
    if (std::ranges::find(cell, runs.front().group) != cell.end())
      out_.error(point.front().value.place, "two values of the search are the same run",
                 "list each once");
    cell.push_back(runs.front().group);
    const auto first_final = runs.begin() + static_cast<std::ptrdiff_t>(search_->seeds.size());
    std::move(runs.begin(), first_final, std::back_inserter(tries));
    std::move(first_final, runs.end(), std::back_inserter(finals));
  }
  // With fewer values than others have the algorithm would be at a disadvantage.
  if (is_refused(algorithm, label, std::move(refusals))) return;
  add(std::move(finals), index, algorithm.place, search.finals);
  add(std::move(tries), index, algorithm.place, plan.runs);
  // An algorithm that reads no graph has one cell for all graphs.
  if (std::ranges::find(search.cells, cell) == search.cells.end())
    search.cells.push_back(std::move(cell));
}

void Compiler::add(std::vector<PlannedRun> runs, std::size_t index, const Place& place,
                   std::vector<PlannedRun>& to) {
  for (PlannedRun& run : runs) {
    const auto [known, is_new] = owners_.emplace(run.digest, Owner{index, to.size()});
    const Owner& owner = known->second;
    if (is_new) {
      to.push_back(std::move(run));
    } else if (owner.algorithm != index) {
      out_.error(place,
                 fmt::format("[[algorithms]] entries {} and {} ({}) are the same run",
                             owner.algorithm + 1, index + 1, clip(run.label, 40)),
                 "remove one, or change a setting of it; labels make no difference");
      return;
    } else {
      // One run is enough if the sweep varies a key that this algorithm sets itself, or the graph
      // and the algorithm reads none.
      to[owner.run].graph.swept.merge(run.graph.swept);
    }
  }
}

// Later overrides win over earlier ones. Returns whether all could be parsed.
void apply_overrides(Node& root, const std::vector<std::string>& overrides, Diagnostics& out) {
  for (std::size_t i = 0; i < overrides.size(); ++i)
    if (auto override = parse_override(overrides[i], static_cast<int>(i), out)) {
      const Place key = override->value.key_place;
      if (auto problem =
              assign(root, override->key, std::move(override->value), Origin::override_text))
        out.error(key, std::move(*problem));
    }
}

std::string recipe_digest(const std::string& text, const std::vector<std::string>& overrides) {
  nlohmann::json whole = {text, overrides};
  return sha256_hex(whole.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

}  // namespace

Plan compile_recipe(const std::string& path, const std::string& recipe_text,
                    const std::vector<std::string>& overrides) {
  Diagnostics diagnostics(path, recipe_text, overrides);
  Plan plan;
  plan.name = std::filesystem::path(path).stem().string();
  plan.recipe_path = path;
  plan.recipe_text = recipe_text;
  plan.recipe_digest = recipe_digest(recipe_text, overrides);
  plan.overrides = overrides;
  if (auto root = parse_recipe(recipe_text, diagnostics)) {
    apply_overrides(*root, overrides, diagnostics);
    Compiler(path, diagnostics).compile(*root, plan);
  }
  if (diagnostics.has_errors()) throw RecipeError(diagnostics.errors());
  plan.warnings = diagnostics.warnings();
  return plan;
}

Plan load_recipe(const std::string& path, const std::vector<std::string>& overrides,
                 const std::string& copy_of) {
  return compile_recipe(copy_of.empty() ? path : copy_of, recipe_text(path), overrides);
}

}  // namespace acid

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <numeric>
#include <set>

#include "engine/base/names.hpp"
#include "engine/base/utf8.hpp"
#include "engine/methods/method.hpp"
#include "recipes/comparison_section.hpp"
#include "recipes/compiler.hpp"
#include "recipes/methods.hpp"
#include "recipes/reference.hpp"
#include "recipes/resolver.hpp"
#include "recipes/seeds.hpp"

namespace acid {

void Compiler::compile(const Node& root, Plan& plan) {
  check_top(root);
  read_name(root, plan);
  read_seeds(root);
  plan.seeds = seeds_;
  if (over_ != nullptr) seeds_.resize(1);  // their runs differ in nothing that is asked
  checker_.add_algorithms(recipe_methods(root.find("methods"), checker_, broken_methods_));
  check_labels(root);
  unused_.expect_overrides(root, sections_);
  std::optional<Node> sweep;
  if (const Node* const given = root.find("sweep")) sweep = *given;
  skips_ = (sweep && take_skip_inapplicable(*sweep, out_)) || over_ != nullptr;
  const Node* const swept = sweep ? &*sweep : nullptr;
  search_ = read_search(root.find("search"), seeds_, swept, checker_);
  if (search_) {
    plan.search.emplace().seeds = search_->seeds;
    if (search_->draws) plan.search->draw_seed = search_->draw_seed;
  }
  const std::vector<SweepPoint> points = points_of(swept);
  const Node* const algorithms = root.find("algorithms");
  const std::size_t algorithm_count = algorithms == nullptr ? 1 : algorithms->children.size();
  const Place place = search_ ? search_->place : algorithms ? algorithms->place : Place{};
  if (are_too_many(
          points.size() * runs_of_cell(search_ ? search_->points.size() : 1) * algorithm_count,
          swept != nullptr ? swept->place : place, out_))
    return;
  constexpr std::size_t kEnoughErrors = 100;  // after so many no more are looked for
  for (const SweepPoint& point : points) {
    if (out_.error_count() > kEnoughErrors || (!skips_ && refused_.reasons() > kEnoughErrors))
      break;
    compile_point(root, point, plan);
    if (over_ != nullptr) value_ = (value_ + 1) % over_->values.size();
  }
  refused_.settle(swept, skips_, plan, out_);
  plan.comparison = read_comparison(root, plan, checker_);
  std::vector<std::string> keys;
  for (const Assignment& one : points.front()) keys.push_back(one.key);
  unused_.warn(keys, out_);
  warn_of_unused_methods(root, plan);
}

void Compiler::warn_of_unused_methods(const Node& root, const Plan& plan) {
  for (const AlgorithmEntry* own : checker_.algorithms())
    if (std::ranges::find(plan.runs, own->name, &PlannedRun::algorithm) == plan.runs.end() &&
        std::ranges::find(plan.left_out, own->name, &LeftOut::algorithm) == plan.left_out.end())
      out_.warn(root.find("methods")->place,
                {fmt::format("no run uses the method '{}'", own->name),
                 fmt::format("add [[algorithms]] with kind = \"{}\"", own->name)});
}

void Compiler::check_top(const Node& root) {
  std::vector<std::string> known = names_of(top_keys().fields);
  known.emplace_back("algorithms");
  known.emplace_back("claims");
  known.insert(known.end(), sections_.begin(), sections_.end());
  for (const Node& child : root.children)
    if (std::find(known.begin(), known.end(), child.key) == known.end())
      refuse_top_key(checker_, child, known);
}

void Compiler::read_name(const Node& root, Plan& plan) {
  const Node* name = root.find("name");
  if (!checker_.is_type(name, Node::Type::text, "name", "text in quotes")) return;
  if (name != nullptr) require_showable(*name, "name");
  if (name != nullptr) plan.name = name->text();
  const Place place = name != nullptr ? name->place : Place();
  for (const char* const begin : {"@", "tag:", "-"})  // these have a meaning on command lines
    if (plan.name.starts_with(begin))
      out_.error(place, fmt::format("no command could find an experiment called '{}'", plan.name),
                 fmt::format("give it a name that does not begin with '{}': name = \"…\"", begin));
}

// Names and labels are printed on terminals, on pages and in file names.
void Compiler::require_showable(const Node& text, const char* key) {
  if (is_blank(text.text()))
    out_.error(text.place, fmt::format("{} is empty", key), "write a name, or remove the key");
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
  else
    seeds_ = acid::read_seeds(*seeds, kRemedy, out_);
}

// Tables and charts distinguish algorithms by label, so labels must differ.
void Compiler::check_labels(const Node& root) {
  const Node* const list = root.find("algorithms");
  if (list == nullptr || !list->is_list()) return;
  std::set<std::string> called;
  for (const Node& algorithm : list->children) {
    const Node* const kind = kind_of(algorithm);
    const AlgorithmEntry* const entry = kind != nullptr ? find_algorithm(kind->text()) : nullptr;
    const Node* const label = algorithm.find("label");
    if (label == nullptr || !label->is_text()) {
      if (entry != nullptr) called.emplace(entry->label);
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
    if (!called.insert(label->text()).second)
      out_.error(label->place,
                 fmt::format("another algorithm is called '{}' too", clip(label->text(), 40)),
                 "give each a label of its own");
  }
}

// How many runs an algorithm has at one point of the sweep, where a search tries so many values.
std::size_t Compiler::runs_of_cell(std::size_t values) const {
  return search_ ? std::max<std::size_t>(values, 1) * (search_->seeds.size() + seeds_.size())
                 : seeds_.size();
}

// The values of `over_` vary fastest.
std::vector<SweepPoint> Compiler::points_of(const Node* sweep) {
  std::vector<SweepPoint> points = sweep_points(sweep, out_);
  if (over_ == nullptr) return points;
  for (const Assignment& swept : points.front())
    if (swept.key == over_->key)
      out_.error(swept.value.key_place, fmt::format("the recipe sweeps over '{}' too", swept.key),
                 "remove it from [sweep], or --over");
  std::vector<SweepPoint> product;
  for (const SweepPoint& point : points)
    for (std::size_t k = 0; k < over_->values.size(); ++k) {
      product.push_back(point);
      product.back().push_back(over_->at(k));
    }
  return product;
}

void Compiler::compile_point(Node root, const SweepPoint& point, Plan& plan) {
  point_ = &point;
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
  const Node* const kind = kind_of(algorithm);
  if (kind != nullptr && broken_methods_.contains(kind->text())) return;
  if (search_) return compile_cell(tree, algorithm, label, index, plan);
  if (const Node* const own = algorithm.find("search"))
    out_.error(own->key_place, "an algorithm has a search, and the recipe has none",
               "add [search] with seeds of its own");
  Diagnostics::Findings refusals;
  std::vector<PlannedRun> runs = runs_of(std::move(tree), algorithm, label, seeds_, refusals);
  if (is_refused(algorithm, label, std::move(refusals)) || runs.empty()) return;
  note_cell(algorithm, runs.front().group, index, plan);
  add(std::move(runs), index, algorithm.place, plan.runs);
}

void Compiler::note_cell(const Node& algorithm, const std::string& group, std::size_t index,
                         Plan& plan) const {
  SweepPoint own = *point_;
  if (over_ != nullptr) own.pop_back();
  const bool repeats = take_own_values(own, algorithm.find("set"));
  PlannedCell cell{settings_of(own), value_, index, group};
  if (!repeats || std::ranges::find(plan.cells, cell) == plan.cells.end())
    plan.cells.push_back(cell);
}

// Notes a cell with refusals.
bool Compiler::is_refused(const Node& algorithm, const std::string& label,
                          Diagnostics::Findings refusals) {
  if (refusals.errors.empty()) return false;
  const std::string name = kind_of(algorithm)->text();
  refused_.add(*point_, algorithm.place, name,
               label.empty() ? std::string(checker_.algorithm(name)->label) : label,
               std::move(refusals));
  return true;
}

// No runs after a mistake, which is reported, or where parts that are sound do not go together:
// `refusals` says why, and is not reported.
std::vector<PlannedRun> Compiler::runs_of(Node settings, Node algorithm, const std::string& label,
                                          std::span<const std::uint64_t> seeds,
                                          Diagnostics::Findings& refusals, double share) {
  algorithm.key = "algorithm";
  for (const char* elsewhere : {"label", "set", "search"}) algorithm.erase(elsewhere);
  settings.children.push_back(std::move(algorithm));
  const Machines::Use machine = machines_.apply_to(settings);
  Draft draft = check_sections(checker_, settings);
  draft.share = share;
  const Diagnostics::Mark before = out_.mark();
  if (machine.refusal) out_.error(machine.place, *machine.refusal);
  std::vector<PlannedRun> runs =
      Resolver(settings, draft, facts_, unused_, out_).runs(label, seeds);
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
  if (search.values == 0) {
    search.values = points.size();
    search.rungs = rungs_of(*search_, search.values, out_);
  }
  if (search.values == points.size()) return !search.rungs.empty();
  if (out_.has_errors()) return false;  // the points may be those that are left after a mistake
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
      own != nullptr ? own_search_points(*own, *search_, out_) : search_->points;
  if (!has_equal_points(points, algorithm, search)) return;
  if (are_too_many(runs_of_cell(points.size()), points.front().front().value.place, out_)) return;
  Tried cell{.groups = {}, .finals = {}, .rungs = std::vector<Tried::Rung>(search.rungs.size())};
  Diagnostics::Findings refusals;
  for (const SweepPoint& point : points) {
    Node tried_settings = settings, tried = algorithm;
    for (std::string& key : apply_search_point(tried_settings, tried, point, sections_, out_))
      if (std::ranges::find(search.keys, key) == search.keys.end())
        search.keys.push_back(std::move(key));
    compile_value(tried_settings, tried, label, point.front().value.place, search, cell, refusals);
  }
  // With fewer values than others have the algorithm would be at a disadvantage.
  if (is_refused(algorithm, label, std::move(refusals))) return;
  if (!cell.groups.empty()) note_cell(algorithm, cell.groups.front(), index, plan);
  // An algorithm that reads no graph has one cell for all graphs.
  const bool is_new = std::ranges::find(search.cells, cell.groups) == search.cells.end();
  if (is_new) count_gradients(cell, search);
  add(std::move(cell.finals), index, algorithm.place, search.finals);
  for (std::size_t k = 0; k < cell.rungs.size(); ++k) {
    add(std::move(cell.rungs[k].runs), index, algorithm.place,
        k == 0 ? plan.runs : search.rungs[k].runs);
    if (is_new) search.rungs[k].cells.push_back(std::move(cell.rungs[k].groups));
  }
  if (is_new) search.cells.push_back(std::move(cell.groups));
}

// Adds one value of a cell, in every rung and with the whole budget.
void Compiler::compile_value(const Node& settings, const Node& algorithm, const std::string& label,
                             const Place& place, PlannedSearch& search, Tried& cell,
                             Diagnostics::Findings& refusals) {
  std::vector<std::uint64_t> seeds = search_->seeds;
  seeds.insert(seeds.end(), seeds_.begin(), seeds_.end());
  std::vector<PlannedRun> runs = runs_of(settings, algorithm, label, seeds, refusals);
  if (runs.empty()) return;
  search.metric = search_metric(runs.front(), *search_, out_);
  if (std::ranges::find(cell.groups, runs.front().group) != cell.groups.end())
    out_.error(place, "two values of the search are the same run", "list each once");
  cell.groups.push_back(runs.front().group);
  const auto first_final = runs.begin() + static_cast<std::ptrdiff_t>(search_->seeds.size());
  for (std::size_t k = 0; k < search.rungs.size(); ++k) {
    const double share = search.rungs[k].share;
    const std::vector<PlannedRun> tries =
        share < 1 ? runs_of(settings, algorithm, label, search_->seeds, refusals, share)
                  : std::vector<PlannedRun>(runs.begin(), first_final);
    if (tries.empty()) continue;
    if (share < 1 && runs.front().budget_gradients > 0) check_length(tries.front(), share);
    cell.rungs[k].groups.push_back(tries.front().group);
    cell.rungs[k].runs.insert(cell.rungs[k].runs.end(), tries.begin(), tries.end());
  }
  std::move(first_final, runs.end(), std::back_inserter(cell.finals));
}

// A rung in which workers do nothing tells nothing.
void Compiler::check_length(const PlannedRun& run, double share) {
  if (run.budget_gradients >= run.workers) return;
  out_.error(
      search_->halving_place,
      fmt::format("with 1/{:.0f} of its budget a run of the search would have {} for {}", 1 / share,
                  counted(run.budget_gradients, "gradient"), counted(run.workers, "worker")),
      "make the runs longer, or use fewer rungs or a smaller factor");
}

void Compiler::count_gradients(const Tried& cell, PlannedSearch& search) const {
  const auto sum_of = [](const std::vector<PlannedRun>& runs, std::size_t most) {
    std::vector<std::int64_t> budgets;
    for (const PlannedRun& run : runs) budgets.push_back(run.budget_gradients);
    std::ranges::sort(budgets, std::greater());
    budgets.resize(std::min(most, budgets.size()));
    return std::accumulate(budgets.begin(), budgets.end(), std::int64_t{0});
  };
  for (std::size_t k = 0; k < cell.rungs.size(); ++k)
    search.rungs[k].gradients +=
        sum_of(cell.rungs[k].runs, search.rungs[k].values * search.seeds.size());
  search.grid_gradients += sum_of(cell.finals, cell.finals.size()) /
                           static_cast<std::int64_t>(seeds_.size()) *
                           static_cast<std::int64_t>(search.seeds.size());
}

void Compiler::add(std::vector<PlannedRun> runs, std::size_t index, const Place& place,
                   std::vector<PlannedRun>& to) {
  for (PlannedRun& run : runs) {
    const auto [known, is_new] =
        owners_.emplace(std::pair(&to, run.digest), Owner{index, to.size()});
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

}  // namespace acid

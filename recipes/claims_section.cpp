#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <span>

#include "engine/base/names.hpp"
#include "engine/base/static_text.hpp"
#include "engine/base/utf8.hpp"
#include "engine/recorder/metrics.hpp"
#include "recipes/claim_settings.hpp"
#include "recipes/comparison_section.hpp"
#include "recipes/seeds.hpp"
#include "settings/run_settings.hpp"
#include "settings/schema.hpp"

namespace acid {
namespace {

using nlohmann::json;

struct ClaimTable {};

constexpr const char *kFirst = "algorithm", *kSecond = "than";
constexpr std::string_view kTotals = "seconds, bytes, gradients, gradients_per_second";

constexpr auto kThan =
    key_of<ClaimTable>("than", FieldType::text, "", "the other algorithm: a label or a method")
        .said("a label or a method", "", "than = \"AD-PSGD\"");
constexpr auto kAt =
    key_of<ClaimTable>("at", FieldType::text, "\"end\"",
                       "where the metric is read: at the end of each run, or where all runs have "
                       "come equally far in gradients, seconds or bytes")
        .among("end, gradients, seconds, bytes");
constexpr auto kMargin =
    key_of<ClaimTable>("margin", FieldType::number, "", "a difference that does not matter")
        .said("a number above 0, or a percentage of the other's value in quotes", "",
              "margin = \"2 %\"")
        .apart();

constexpr Fields kBetter = fields<ClaimTable>(
    {kThan,
     key_of<ClaimTable>("by", FieldType::number, "0", "how much better at least")
         .said("a number from 0, or a percentage of the other's value in quotes", "", "by = 0.01")
         .apart(),
     kAt});
constexpr Fields kEquivalent = fields<ClaimTable>({kThan, kMargin, kAt});
constexpr Fields kRatio = fields<ClaimTable>(
    {kThan,
     key_of<ClaimTable>("bounds", FieldType::numbers, "",
                        "between which the metric, divided by the other's, lies", above(0))
         .said("two numbers above 0", "", "bounds = [0.24, 0.26]"),
     kAt});
constexpr Fields kCrossover = fields<ClaimTable>(
    {kThan,
     key_of<ClaimTable>("key", FieldType::text, "", "a swept key")
         .said("a swept key", "", "key = \"workers.count\""),
     key_of<ClaimTable>("between", FieldType::table, "",
                        "two of its values: the algorithm is better at the first, the other one at "
                        "the second")
         .said("a list of two of its values", "", "between = [4, 16]")
         .apart(),
     kAt});
constexpr Fields kLaw = fields<ClaimTable>(
    {key_of<ClaimTable>("formula", FieldType::text, "",
                        "what the metric is: an expression over recipe keys, as SQL has it")
         .said("an expression in quotes", "",
               "formula = \"0.01 * budget.gradients / workers.count\""),
     key_of<ClaimTable>("within", FieldType::number, "", "how far off it may be")
         .said("a number above 0, or a percentage of the formula's value in quotes", "",
               "within = \"2 %\"")
         .apart(),
     kAt});
constexpr std::array kKinds{
    Kind{"better", kBetter.fields, "the algorithm is better than another"},
    Kind{"equivalent", kEquivalent.fields, "the two differ by less than a margin"},
    Kind{"ratio", kRatio.fields, "the metric is so many times the other's"},
    Kind{"crossover", kCrossover.fields, "who is better changes along a swept key"},
    Kind{"law", kLaw.fields, "the metric is what a formula in recipe keys says"}};

constexpr StaticText kMetricWords =
    StaticText().add("what is compared: an outcome, as in [comparison], or one of ").add(kTotals);
constexpr Fields kCommon = fields<ClaimTable>(
    {key_of<ClaimTable>("name", FieldType::text, "", "what verdicts are printed with")
         .said("", "", "name = \"momentum pays on a ring\""),
     key_of<ClaimTable>("algorithm", FieldType::text, "", "which the claim is about")
         .said("a label or a method", "", "algorithm = \"A²CiD²\""),
     key_of<ClaimTable>("metric", FieldType::text, "", kMetricWords.view())
         .said("the name of a metric", "", "metric = \"eval_loss\""),
     key_of<ClaimTable>(
         "where", FieldType::table, "{}",
         "values of swept keys; the claim is about all points of the sweep that have "
         "them, and holds if it holds at each")
         .said("a table of swept keys", "", "where = { workers.count = 16 }"),
     key_of<ClaimTable>("level", FieldType::number, "0.05",
                        "how often a claim that is not true may be found to hold",
                        above(0).below(0.5)),
     key_of<ClaimTable>("seeds", FieldType::integers, "null",
                        "that decide; others are left out (default: all of the recipe)")
         .said("whole numbers and ranges of them", "", "seeds = \"1-10\"")
         .apart()});

constexpr FieldTable kClaims{.fields = kCommon.fields,
                             .kinds = [] { return std::span<const Kind>(kKinds); },
                             .fallback = {}};

/// A claim while it is read.
class Reader {
 public:
  Reader(const Node& node, const Plan& plan, Checker& checker, bool is_whole)
      : node_(node),
        plan_(plan),
        checker_(checker),
        out_(checker.diagnostics()),
        is_whole_(is_whole) {}

  json read() {
    const int before = out_.reported();
    claim_ = checker_.kinded(&node_, "claims", kKinds, "", kCommon.fields);
    if (out_.reported() > before) return nullptr;
    check_name();
    check_algorithm(kFirst);
    if (!is_kind("law")) check_algorithm(kSecond);
    if (!is_kind("law") && claim_[kFirst] == claim_[kSecond])
      out_.error(node_.find("than")->place, "a claim compares two algorithms, and this is one",
                 "name another algorithm in than");
    check_metric();
    read_where();
    read_seeds();
    read_margins();
    read_bounds();
    read_crossover();
    if (out_.reported() > before) return nullptr;
    count();
    return out_.reported() > before ? json() : claim_;
  }

 private:
  bool is_kind(std::string_view kind) const { return claim_["kind"] == kind; }

  void count() {
    const std::size_t settings = count_settings(claim_, plan_);
    if (settings == 0 && is_whole_)
      out_.error(node_.place,
                 is_kind("law") ? "the claim's algorithm does not run at these settings"
                                : "the claim's algorithms do not run at the same settings",
                 "compare them where both run: an algorithm's set keeps it away from other values "
                 "of a swept key, and sweep.skip_inapplicable leaves cells out");
    claim_["points"] = settings;
  }

  void check_name() {
    const Node& name = *node_.find("name");
    if (is_blank(name.text()) || !is_showable(name.text()))
      out_.error(name.place, "a claim's name must have characters that can be seen",
                 "write what is claimed in a few words");
  }

  void check_algorithm(const char* key) {
    const Node& given = *node_.find(key);
    std::vector<std::string> labels;
    std::set<std::string> of_method;
    for (const PlannedRun& run : plan_.compared()) {
      if (std::ranges::find(labels, run.label) == labels.end()) labels.push_back(run.label);
      if (run.algorithm == given.text()) of_method.insert(run.label);
    }
    if (labels.empty()) return;  // the runs' mistakes are reported already
    if (std::ranges::find(labels, given.text()) != labels.end()) return;
    if (of_method.empty() && !is_whole_) return;
    if (of_method.empty())
      return checker_.unknown(given.place, "algorithm", given.text(), labels,
                              fmt::format(" in claims.{}", key));
    if (of_method.size() > 1)
      out_.error(
          given.place,
          fmt::format("{} of this recipe's algorithms are {}", of_method.size(), given.text()),
          fmt::format("name one by its label, such as \"{}\"", *of_method.begin()));
    claim_[key] = *of_method.begin();
  }

  void check_metric() {
    const Node& metric = *node_.find("metric");
    const auto totals = split_choices(kTotals);
    if (std::ranges::find(totals, metric.text()) != totals.end()) {
      if (metric.text() == "gradients" && (is_kind("better") || is_kind("crossover")))
        out_.error(metric.place, "neither more nor fewer gradients are better",
                   "claim a ratio of them, or compare gradients_per_second");
      if (claim_["at"] != "end")
        out_.error(metric.place,
                   fmt::format("{} is a total of a run, which is not read at equal {}",
                               metric.text(), claim_["at"].get<std::string>()),
                   "leave out at");
      return;
    }
    if (!check_outcome(metric.place, "the metric of a claim", metric.text(), plan_, checker_))
      return;
    if (claim_["at"] != "end" &&
        (is_way_to_target(metric.text()) || metric.text() == kMidConsensus))
      out_.error(metric.place,
                 fmt::format("{} belongs to a whole run, and is not read at equal {}",
                             metric.text(), claim_["at"].get<std::string>()),
                 "leave out at");
  }

  /// Whether a search chooses the key's value.
  bool is_searched(const std::string& key) const {
    return plan_.search && std::ranges::find(plan_.search->keys, key) != plan_.search->keys.end();
  }

  /// The values that the sweep gives a key, each once; none if no algorithm has several of them, or
  /// if a search chooses among them.
  std::vector<json> swept(const std::string& key) const {
    std::map<std::string, std::vector<json>> of_labels;
    std::vector<json> all;
    if (key.empty() || key.find('/') != std::string::npos || is_searched(key)) return all;
    const auto add = [](std::vector<json>& values, const json& value) {
      if (std::ranges::find(values, value) == values.end()) values.push_back(value);
    };
    for (const PlannedRun& run : plan_.compared())
      if (const auto at = pointer_to(key); run.settings.contains(at))
        add(of_labels[run.label], run.settings.at(at));
    for (const auto& [label, values] : of_labels)
      if (values.size() > 1)
        for (const json& value : values) add(all, value);
    return all;
  }

  /// Whether the sweep gives the key this value.
  bool check_value(const Place& place, const std::string& key, const json& value) {
    if (plan_.compared().empty()) return true;  // the runs' mistakes are reported already
    const std::vector<json> values = swept(key);
    if (values.empty()) {
      out_.error(place,
                 is_searched(key)
                     ? fmt::format("the search chooses {}, and claims are about what it chose", key)
                     : fmt::format("[sweep] gives no algorithm several values of '{}'", key),
                 "name a key that [sweep] varies");
      return false;
    }
    if (std::ranges::find(values, value) != values.end()) return true;
    std::vector<std::string> known;
    for (const json& one : values) known.push_back(one.dump());
    checker_.unknown(place, "value", value.dump(), known, fmt::format(" of {}", key));
    return false;
  }

  void read_where() {
    json where = json::object();
    for (const auto& [name, value] : claim_["where"].items()) choose(where, name, value);
    claim_["where"] = std::move(where);
  }

  /// Adds the values of swept keys within a table; one by worker is a value, as in comparisons.
  void choose(json& where, const std::string& key, const json& value) {
    if (!value.is_object() || is_by_worker(value)) {
      if (check_value(node_.find("where")->place, key, value)) where[key] = value;
      return;
    }
    for (const auto& [name, inner] : value.items()) choose(where, key + "." + name, inner);
  }

  void read_seeds() {
    std::vector<std::uint64_t> seeds = plan_.seeds;
    if (const Node* const given = node_.find("seeds")) {
      constexpr std::size_t kNamed = 3;
      const std::span some(seeds.data(), std::min(kNamed, seeds.size()));
      const std::string remedy =
          fmt::format("list seeds of this recipe, such as seeds = [{}]", fmt::join(some, ", "));
      seeds = acid::read_seeds(*given, remedy, out_, [&](std::uint64_t seed) {
        const bool known = std::ranges::find(plan_.seeds, seed) != plan_.seeds.end();
        return known ? std::string() : std::string("it is no seed of this recipe");
      });
    }
    std::ranges::sort(seeds);
    claim_["seeds"] = seeds;
  }

  void read_margins() {
    for (const auto& [kind, key] : {std::pair("better", "by"), std::pair("equivalent", "margin"),
                                    std::pair("law", "within")}) {
      if (!is_kind(kind)) continue;
      const bool needed = !is_kind("better");
      const Node* const given = node_.find(key);
      if (given == nullptr && needed)
        out_.error(node_.place, fmt::format("claims.{} is missing", key),
                   fmt::format("add the largest difference that does not matter: {} = 0.01, or "
                               "\"2 %\"",
                               key));
      json read{{"value", 0.0}, {"relative", false}};
      const bool is_zero = given != nullptr && given->scalar.is_number() && given->scalar == 0;
      if (given != nullptr && (needed || !is_zero))
        read = read_margin(*given, claim_["metric"], checker_, is_kind("better"));
      claim_[key] = std::move(read);
    }
  }

  void read_bounds() {
    if (!is_kind("ratio")) return;
    const json& bounds = claim_["bounds"];
    if (bounds.size() == 2 && bounds[0] < bounds[1]) return;
    out_.error(node_.find("bounds")->place, "bounds of a ratio are two numbers, the smaller first",
               "write bounds = [0.24, 0.26]");
  }

  void read_crossover() {
    if (!is_kind("crossover")) return;
    const Node* const between = node_.find("between");
    if (between == nullptr || !between->is_list() || between->children.size() != 2 ||
        between->children[0].scalar == between->children[1].scalar)
      return out_.error(between == nullptr ? node_.place : between->place,
                        "claims.between must be a list of two values of the key",
                        "write between = [4, 16]");
    json values = json::array();
    for (const Node& value : between->children) {
      check_value(value.place, claim_["key"], value.scalar);
      values.push_back(value.scalar);
    }
    claim_["between"] = std::move(values);
    if (claim_["where"].contains(claim_["key"].get<std::string>()))
      out_.error(node_.find("where")->place, "where names the key along which a crossover is",
                 "leave it out of where");
  }

  const Node& node_;
  const Plan& plan_;
  Checker& checker_;
  Diagnostics& out_;
  const bool is_whole_;  // no algorithm's mistakes were reported, so the plan has them all
  json claim_;
};

}  // namespace

const FieldTable& claim_keys() { return kClaims; }

json read_claims(const Node* claims, const Plan& plan, Checker& checker) {
  if (claims == nullptr) return nullptr;
  if (claims->is_text()) {  // in the recipe it would have been replaced by the file's claims
    checker.diagnostics().error(
        claims->place, "--set cannot name a file of claims: the recipe does",
        fmt::format("write claims = \"{}\" into the recipe, above its first table",
                    claims->text()));
    return nullptr;
  }
  if (!checker.is_type(claims, Node::Type::list, "claims", "a list of tables, [[claims]]"))
    return nullptr;
  json read = json::array();
  std::set<std::string> names;
  const bool is_whole = !checker.diagnostics().has_errors();
  for (const Node& node : claims->children) {
    if (!checker.is_type(&node, Node::Type::table, "claims", "a table, [[claims]]")) continue;
    json claim = Reader(node, plan, checker, is_whole).read();
    if (claim.is_null()) continue;
    if (!names.insert(claim["name"]).second)
      checker.diagnostics().error(node.find("name")->place, "two claims have this name",
                                  "give each a name of its own");
    read.push_back(std::move(claim));
  }
  return read.empty() ? json() : read;
}

}  // namespace acid

#include "engine/methods/listed.hpp"

#include <fmt/format.h>

#include <cmath>
#include <deque>
#include <map>
#include <nlohmann/json.hpp>

#include "engine/base/error.hpp"
#include "engine/base/mutex.hpp"
#include "engine/language/listed_rule.hpp"
#include "engine/language/listing_facts.hpp"
#include "engine/methods/common_fields.hpp"
#include "engine/methods/named.hpp"

namespace acid {
namespace {

using nlohmann::json;

bool hears_pulls(const Listing& listing) {
  return std::ranges::any_of(listing.vectors,
                             [](const Kept& one) { return one.pulled_by.has_value(); }) ||
         std::ranges::any_of(listing.hear, [](const Statement& one) {
           return contains(one.value, Operation::pull);
         });
}

bool is_of_rates(const Expression& one) { return one.name == "chi1" || one.name == "chi2"; }

Optimizers optimizers_of(const Listing& listing) {
  if (listing.step.empty()) return Optimizers::none;
  for (const Statement& statement : listing.step)
    if (reads(statement, "u")) return Optimizers::any;
  return listing.takes_momentum ? Optimizers::sgd : Optimizers::own;
}

std::string_view or_else(const std::string& text, std::string_view fallback) {
  return text.empty() ? fallback : std::string_view(text);
}

/// An entry, and the data to which its views point.
class ListedEntry {
 public:
  explicit ListedEntry(Listing listing)
      : listing_(std::make_shared<const Listing>(std::move(listing))) {
    const auto named = std::ranges::find(named_methods(), listing_->name, &NamedMethod::name);
    if (named != named_methods().end()) named_ = &*named;
    if (rate_is_a_number())
      fields_.push_back({.name = kCommunicationRateField.name,
                         .type = kCommunicationRateField.type,
                         .fallback = named_ != nullptr ? kCommunicationRateField.fallback
                                                       : kept(print(*listing_->rate)),
                         .help = kCommunicationRateField.help,
                         .minimum = 0,
                         .maximum = kMostCommunicationRate,
                         .choices = kCommunicationRateField.choices,
                         .needs_peers = named_ != nullptr});
    if (named_ != nullptr)
      fields_.insert(fields_.end(), named_->choices.begin(), named_->choices.end());
    for (const ListedParameter& parameter : listing_->parameters) add_field(parameter);
    if (listing_->peers == Peers::neighbours)
      fields_.insert(fields_.end(), {kWeightsField, kExchangeField});
    if (listing_->of_graph.agreement) agreement_ = print(*listing_->of_graph.agreement);
    entry_ = {.name = listing_->name,
              .label = listing_->about.label,
              .summary = or_else(listing_->about.summary, "a method of a recipe"),
              .source = or_else(listing_->about.source, "a recipe"),
              .peers = listing_->peers,
              .optimizers = optimizers_of(*listing_),
              .fields = fields_,
              .make = [this](const json& options,
                             const Spectral* nominal) { return make(options, nominal); },
              .agreement = agreement_,
              .listing = listing_.get(),
              .by_name = named_ != nullptr};
    if (named_ == nullptr) return;
    entry_.shown = named_->shown;
    entry_.no_effect = named_->no_effect;
  }
  ListedEntry(const ListedEntry&) = delete;

  const AlgorithmEntry& entry() const { return entry_; }

 private:
  std::string_view kept(std::string text) { return texts_.emplace_back(std::move(text)); }
  bool rate_is_a_number() const {
    return listing_->rate && listing_->rate->operation == Operation::number;
  }

  void add_field(const ListedParameter& parameter) {
    Field field{.name = parameter.name,
                .type = FieldType::number,
                .fallback = parameter.formula ? std::string_view("null")
                                              : kept(json(parameter.value).dump()),
                .help = parameter.help};
    if (field.help.empty()) field.help = "a number of the method";
    if (parameter.minimum) field.minimum = *parameter.minimum;
    if (parameter.maximum) field.maximum = *parameter.maximum;
    field.needs_peers = named_ != nullptr;
    fields_.push_back(field);
  }

  Method make(const json& options, const Spectral* nominal) const {
    ParameterValues values{{"chi1", nominal == nullptr ? 1 : nominal->chi1},
                           {"chi2", nominal == nullptr ? 1 : nominal->chi2}};
    for (const ListedParameter& parameter : listing_->parameters)
      if (const json& given = options.at(parameter.name); given.is_number())
        values[parameter.name] = given.get<double>();
    Method method;
    method.kind = entry_.name;
    method.peers = listing_->peers;
    auto listing = listing_;
    if (named_ != nullptr && named_->adapt != nullptr)
      listing = named_->adapt(listing_, options, nominal, values);
    for (const ListedParameter& parameter : listing_->parameters)
      if (!values.contains(parameter.name)) {
        const double value = formula_value(*parameter.formula, values);
        if (!std::isfinite(value))
          throw UsageError(fmt::format("{} of {} is {} = {}, no number to compute with",
                                       parameter.name, entry_.name, print(*parameter.formula),
                                       value));
        const bool is_known = nominal != nullptr || !any_of(*parameter.formula, is_of_rates);
        if (const std::string unmet = parameter.unmet(value); is_known && !unmet.empty())
          throw UsageError(fmt::format("{} of {} is {} = {}, and must be {}", parameter.name,
                                       entry_.name, print(*parameter.formula), value, unmet));
        values[parameter.name] = value;
        method.derived.emplace_back(parameter.name, value);
      }
    for (const ListedParameter& parameter : listing_->parameters)
      if (const double value = values.at(parameter.name);
          parameter.is_whole && value != std::floor(value))
        throw UsageError(
            fmt::format("{} of {} is a whole number, not {}", parameter.name, entry_.name, value));
    for (const Expression& need : listing_->of_graph.needs)
      if (!is_of_graph(need) && formula_value(need, values) == 0)
        throw UsageError(fmt::format("{} needs {}", entry_.name, print(need)));
    if (listing_->meets() && !rate_is_a_number())
      method.derived.emplace_back(kCommunicationRateField.name,
                                  formula_value(*listing_->rate, values));
    if (listing_->meets())
      method.rate = rate_is_a_number() ? number(options, kCommunicationRateField.name)
                                       : formula_value(*listing_->rate, values);
    else
      add_round(method, listing->round, values);
    method.saturates = options.value(kSaturates, false);
    if (listing_->peers == Peers::neighbours)
      method.uniform_weights = text(options, kWeightsField.name) == "uniform";
    method.pulls = hears_pulls(*listing_);
    if (const auto how = options.find(kExchangeField.name); how != options.end())
      method.reduces_groups = *how == "all-reduce";
    for (const Listing::Turn& turn : listing_->turns)
      method.turns.insert(method.turns.end(), count(turn.count, values, 0, "exchanges in turn"),
                          turn.peers);
    if (!listing_->turns.empty() && method.turns.empty())
      throw UsageError(fmt::format("the peers of {} take no turn", entry_.name));
    if (listing_->fragments) method.fragments = count(*listing_->fragments, values, 1, "fragments");
    method.reduces_gradients = averages_gradients(*listing_);
    // Packed gradients were said by a listing before all methods were.
    const bool notes = named_ == nullptr || (method.reduces_gradients && options.contains("codec"));
    method.rules =
        rules<ListedRule>(std::make_shared<const ListedPrograms>(listing, values, notes));
    if (listing_->served.server) add_server(method, values);
    for (std::size_t k = 0; named_ != nullptr && k < named_->shown.size(); ++k) {
      const std::string_view key = named_->shown[k].key;
      method.derived.emplace_back(key, values.find(key)->second);
    }
    return method;
  }

  void add_server(Method& method, const ParameterValues& values) const {
    const auto rules_of = [&](const std::shared_ptr<Listing>& part) {
      return rules<ListedRule>(std::make_shared<const ListedPrograms>(part, values));
    };
    method.server = rules_of(listing_->served.server);
    if (const auto& hubs = listing_->served.server->served.hubs)
      method.hubs = {static_cast<int>(count(hubs->count, values, 1, "hubs")),
                     static_cast<std::int64_t>(
                         count(hubs->every, values, 1, "messages between two visits of a hub")),
                     rules_of(hubs->visit), rules_of(hubs->visit->served.server)};
  }

  void add_round(Method& method, const std::string& round, const ParameterValues& values) const {
    const auto round_at = [this, round, values, served = method.has_server()](double speed,
                                                                              bool& reads) {
      const auto value = [&](std::string_view name) {
        if (served && name == "speed") {
          reads = true;
          return speed;
        }
        const auto found = values.find(name);
        if (found == values.end())
          throw UsageError(fmt::format("the round of {} has no parameter '{}'", entry_.name, name));
        return found->second;
      };
      return Round(round, value, served);
    };
    bool reads_speed = false;
    method.round = round_at(1, reads_speed);
    if (!reads_speed) return;
    method.round_at = [round_at](double speed) {
      bool ignored = false;
      return round_at(speed, ignored);
    };
  }

  std::size_t count(const Expression& formula, const ParameterValues& values, double least,
                    const char* what) const {
    const double value = formula_value(formula, values);
    if (is_count(value, least)) return static_cast<std::size_t>(value);
    throw UsageError(fmt::format("{} has {:g} {}: a whole number from {} to {} is wanted",
                                 entry_.name, value, what, least, kMostCount));
  }

  std::shared_ptr<const Listing> listing_;
  const NamedMethod* named_ = nullptr;
  std::deque<std::string> texts_;
  std::string agreement_;
  std::vector<Field> fields_;
  AlgorithmEntry entry_;
};

/// All entries that were ever asked for.
class ListedEntries {
 public:
  const AlgorithmEntry& of(const Listing& listing) EXCLUDES_LOCK(mutex_) {
    json key = canonical(listing);
    key["name"] = {listing.name, listing.about.label};
    key["momentum"] = listing.takes_momentum;
    key["agreement"] = listing.of_graph.agreement ? print(*listing.of_graph.agreement) : "";
    key["parameters"] = json::array();  // the parameters' help is part of it
    for (const ListedParameter& one : listing.parameters)
      key["parameters"].push_back({one.name, one.value, one.formula ? print(*one.formula) : ""});
    MutexLock lock(mutex_);
    auto& entry = entries_[key.dump()];
    if (entry == nullptr) {
      entry = std::make_unique<ListedEntry>(listing);
      latest_[form_of(canonical(listing), listing.name)] = &entry->entry();
    }
    return entry->entry();
  }

  /// The latest entry with this canonical form and name; nullptr: there is none.
  const AlgorithmEntry* find(const json& form, const std::string& name) EXCLUDES_LOCK(mutex_) {
    MutexLock lock(mutex_);
    const auto found = latest_.find(form_of(form, name));
    return found == latest_.end() ? nullptr : found->second;
  }

 private:
  static std::string form_of(const json& canonical, const std::string& name) {
    return name + " " + canonical.dump();
  }

  Mutex mutex_;
  std::map<std::string, std::unique_ptr<ListedEntry>> entries_ GUARDED_BY(mutex_);
  std::map<std::string, const AlgorithmEntry*> latest_ GUARDED_BY(mutex_);
};

ListedEntries& listed_entries() {
  static ListedEntries entries;
  return entries;
}

}  // namespace

const AlgorithmEntry& listed_entry(const Listing& listing) { return listed_entries().of(listing); }

std::string default_formula(const AlgorithmEntry& entry, std::string_view parameter) {
  for (const ListedParameter& one : entry.listing->parameters)
    if (one.name == parameter && one.formula) return print(*one.formula);
  return {};
}

const AlgorithmEntry& algorithm_of(const json& algorithm) {
  const std::string kind = text(algorithm, "kind");
  if (!algorithm.contains("listing")) {
    const AlgorithmEntry* const entry = find_algorithm(kind);
    if (entry == nullptr)
      throw Error(fmt::format("this acid has no method '{}': the run is of another version", kind));
    return *entry;
  }
  algorithm_catalog();  // the catalog's listings have labels and needs
  if (const AlgorithmEntry* const known = listed_entries().find(algorithm.at("listing"), kind))
    return *known;
  json table = algorithm.at("listing");
  table["name"] = kind;
  json parameters = json::object();
  for (const std::string name : table.at("parameters")) parameters[name] = algorithm.at(name);
  table["parameters"] = std::move(parameters);
  std::vector<Finding> findings;
  const auto listing = read_listing(table, findings, true);
  if (!listing)
    throw Error(fmt::format("the listing of {} cannot be read: {} {}", kind, findings.front().path,
                            findings.front().message));
  return listed_entry(*listing);
}

}  // namespace acid

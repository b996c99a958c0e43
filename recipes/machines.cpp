#include "recipes/machines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <tuple>

#include "engine/base/error.hpp"
#include "engine/base/names.hpp"
#include "engine/base/quantiles.hpp"
#include "engine/base/utf8.hpp"
#include "recipes/checker.hpp"
#include "recipes/parse.hpp"
#include "settings/network_keys.hpp"
#include "settings/schema.hpp"

namespace acid {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr Bounds kSeconds = at_least(0).at_most(1e9);
constexpr Bounds kMachineWorkers = at_least(1).at_most(1e6);

constexpr Fields kMeasuredModel = fields<Machine::Model>(
    {key<&Machine::Model::name>("name", "", "what the gradients are of, in words"),
     key<&Machine::Model::parameters>("parameters", "", "how many parameters it has",
                                      at_least(1).at_most(1e15)),
     key<&Machine::Model::batch_size>("batch_size", "null", "examples per gradient",
                                      at_least(1).at_most(1e9))});

constexpr Fields kGradients = fields<Machine::Gradients>(
    {key<&Machine::Gradients::host>("host", "null", "the host, where hosts differ; absent: any"),
     key<&Machine::Gradients::workers_per_node>(
         "workers_per_node", "1", "workers that computed on the host at the same time",
         kMachineWorkers),
     key<&Machine::Gradients::threads>("threads", "1", "threads inside one gradient",
                                       at_least(1).at_most(1024)),
     key<&Machine::Gradients::mean_seconds>("mean_seconds", "", "mean duration of one gradient",
                                            above(0).at_most(1e9)),
     key<&Machine::Gradients::quantiles>(
         "quantiles", "null",
         "durations at evenly spaced probabilities from 0 to 1, in any unit: their ratios count; "
         "absent: all last the mean",
         at_least(0).at_most(1e15))});

constexpr const char* kLatency = "latency_seconds";
constexpr const char* kLinkBandwidth = "bandwidth_bytes_per_second";
constexpr Fields kLink = fields<Machine::Link>(
    {key<&Machine::Link::latency_seconds>(kLatency, "null", "latency of a message", kSeconds),
     key<&Machine::Link::bytes_per_second>(kLinkBandwidth, "null", "bandwidth, each way",
                                           above(0).at_most(1e18))});

constexpr Fields kMessage = fields<Machine::Message>(
    {key<&Machine::Message::inside>("inside", "false",
                                    "between two workers of a node; else of two nodes"),
     key<&Machine::Message::bytes>("bytes", "", "size", at_least(0).at_most(1e15))
         .as(FieldType::bytes),
     key<&Machine::Message::seconds>("seconds", "", "from sending it to having it", kSeconds)});
constexpr Fields kAllReduce = fields<Machine::AllReduce>(
    {key<&Machine::AllReduce::workers>("workers", "", "how many took part", kMachineWorkers),
     key<&Machine::AllReduce::bytes>("bytes", "", "size of the vector", at_least(0).at_most(1e15))
         .as(FieldType::bytes),
     key<&Machine::AllReduce::seconds>("seconds", "", "how long it took", kSeconds)});

// A list of tables, each read into one more element.
template <auto& declared, auto... path>
void read_list(ClassOf<path...>& members, const json& list, const Field&) {
  for (const json& item : list) declared.fill(member_of<path...>(members).emplace_back(), item);
}
template <auto& declared, auto... path>
constexpr auto list_of(std::string_view name, std::string_view help) {
  return key_of<ClassOf<path...>>(name, FieldType::sections, "[]", help, {},
                                  &read_list<declared, path...>)
      .of(kTableOf<declared>);
}

constexpr Fields kMachineNetwork = fields<Machine::Network>(
    {key<&Machine::Network::between, &Machine::Link::latency_seconds>(
         kLatency, "null", "latency of a message between two nodes", kSeconds),
     key<&Machine::Network::between, &Machine::Link::bytes_per_second>(
         kLinkBandwidth, "null", "bandwidth of a node's network card, each way",
         above(0).at_most(1e18)),
     section<kLink, &Machine::Network::inside>("inside", "between two workers of a node", "null"),
     key<&Machine::Network::all_reduce>("all_reduce", "null", "how an all-reduce's messages go")
         .among(network_keys::kAllReduces),
     key<&Machine::Network::backend_factor>("backend_factor", "null",
                                            "share of the bandwidth that an all-reduce reaches",
                                            above(0).at_most(1)),
     key<&Machine::Network::window_bytes>("window_bytes", "null",
                                          "what a sender sends before it waits for an answer",
                                          above(0).at_most(1e15))
         .as(FieldType::bytes),
     section<network_keys::kOverhead, &Machine::Network::overhead>(
         "overhead", "what exchanges take besides their messages", "null"),
     list_of<kMessage, &Machine::Network::messages>("messages", "messages that were timed"),
     list_of<kAllReduce, &Machine::Network::all_reduces>("all_reduces",
                                                         "all-reduces that were timed")});

constexpr Fields kMachineCost = fields<Machine::Cost>(
    {key<&Machine::Cost::exchange_seconds>("exchange_seconds", "null",
                                           "a worker's own time for an exchange", kSeconds),
     key<&Machine::Cost::sample_seconds>("sample_seconds", "null",
                                         "what a sample of the metrics costs", kSeconds),
     key<&Machine::Cost::bucket_bytes>("bucket_bytes", "null", "size of an all-reduce's pieces",
                                       at_least(1024).at_most(1e15))});

constexpr Fields kMachine = fields<Machine>(
    {key<&Machine::date>("date", "", "when it was measured, \"2026-11-27\""),
     key<&Machine::source>("source", "", "who measured it, and how"),
     key<&Machine::environment>("environment", "{}", "processors, cores, libraries"),
     section<kMeasuredModel, &Machine::model>("model", "what the gradients are of", "null"),
     key<&Machine::workers_per_node>("workers_per_node", "null", "workers on one node",
                                     kMachineWorkers),
     key<&Machine::variation>("variation", "null",
                              "how much runs differ from each other, and from what is simulated",
                              at_least(0).at_most(1)),
     list_of<kGradients, &Machine::gradients>("gradients", "how long gradients take"),
     section<kMachineNetwork, &Machine::network>("network", "how long messages take"),
     section<kMachineCost, &Machine::cost>("cost", "what else costs time")});

constexpr std::size_t kMostQuantiles = 4096;

bool is_date(std::string_view text) {
  constexpr std::string_view kForm = "0000-00-00";
  if (text.size() != 4 && text.size() != 7 && text.size() != kForm.size()) return false;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (kForm[i] == '-' ? text[i] != '-' : text[i] < '0' || text[i] > '9') return false;
  const auto part = [&](std::size_t at) {
    return at < text.size() ? (text[at] - '0') * 10 + text[at + 1] - '0' : 1;
  };
  const int month = part(5), day = part(8);
  return month >= 1 && month <= 12 && day >= 1 && day <= 31;
}

// Checks what no declaration says.
void check_machine(const Node& root, const Machine& machine, Diagnostics& diagnostics) {
  const auto report = [&](const std::string& path, std::string message, std::string remedy) {
    diagnostics.error(place_of(root, path), std::move(message), std::move(remedy));
  };
  if (!is_date(machine.date))
    report("date", fmt::format("'{}' is no date", machine.date), "write it as \"2026-11-27\"");
  for (std::size_t i = 0; i < machine.gradients.size(); ++i) {
    const Machine::Gradients& entry = machine.gradients[i];
    const std::string path = fmt::format("gradients.{}", i);
    if (entry.host.empty() != machine.gradients.front().host.empty())
      report(path, "some of machine.gradients name their host, and others do not",
             "write host in all of them, or in none");
    if (entry.quantiles.size() > kMostQuantiles)
      report(path + ".quantiles",
             fmt::format("machine.gradients[{}].quantiles has {} durations", i,
                         entry.quantiles.size()),
             fmt::format("at most {} are read", kMostQuantiles));
    if (const char* wrong = why_no_quantiles(entry.quantiles);
        wrong != nullptr && root.find("gradients")->children[i].find("quantiles") != nullptr)
      report(path + ".quantiles", fmt::format("machine.gradients[{}].quantiles {}", i, wrong),
             "list the shortest duration, those at evenly spaced probabilities, and the longest");
    const auto key = [](const Machine::Gradients& one) {
      return std::tie(one.host, one.workers_per_node, one.threads);
    };
    const auto until = machine.gradients.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::any_of(machine.gradients.begin(), until,
                    [&](const Machine::Gradients& other) { return key(other) == key(entry); }))
      report(path,
             fmt::format("machine.gradients has {} workers with {} threads{} twice",
                         entry.workers_per_node, entry.threads,
                         entry.host.empty() ? "" : " on " + entry.host),
             "keep one of the two");
  }
}

json without_nulls(const json& value) {
  if (!value.is_object()) {
    json list = value;
    if (list.is_array())
      for (json& item : list) item = without_nulls(item);
    return list;
  }
  json kept = json::object();
  for (const auto& [key, item] : value.items())
    if (!item.is_null()) kept[key] = without_nulls(item);
  return kept;
}

constexpr std::string_view kSuffix = ".toml";

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// The folders in which names are looked up, in that order.
std::vector<fs::path> folders_for(const fs::path& recipe_folder) {
  std::vector<fs::path> folders{recipe_folder / "machines"};
  if (const std::string own = machine_folder(); !own.empty()) folders.emplace_back(own);
  return folders;
}

NamedMachine machine_in(const fs::path& file) {
  return {.name = file.stem().string(),
          .path = file.string(),
          .text = recipe_text(file.string(), "machine")};
}

std::vector<NamedMachine> machines_in(const fs::path& folder) {
  std::vector<NamedMachine> found;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none))
    if (entry.path().extension() == kSuffix && is_machine_name(entry.path().stem().string()) &&
        entry.is_regular_file(none))
      try {
        found.push_back(machine_in(entry.path()));
      } catch (const UsageError&) {  // the others are of use all the same
        found.push_back(
            {.name = entry.path().stem().string(), .path = entry.path().string(), .text = {}});
      }
  std::ranges::sort(found, {}, &NamedMachine::name);
  return found;
}

}  // namespace

std::optional<Machine> read_machine(std::string_view text, Diagnostics& diagnostics) {
  const auto root = parse_recipe(text, diagnostics);
  if (!root) return std::nullopt;
  const json checked = Checker(diagnostics, {}).table(&*root, "machine", kTableOf<kMachine>);
  if (diagnostics.has_errors()) return std::nullopt;
  Machine machine;
  kMachine.fill(machine, checked);
  machine.document = without_nulls(checked);
  check_machine(*root, machine, diagnostics);
  if (diagnostics.has_errors()) return std::nullopt;
  return machine;
}

Machine machine_of(const std::string& path, std::string_view text) {
  Diagnostics diagnostics(path, text, {});
  auto machine = read_machine(text, diagnostics);
  if (!machine) throw RecipeError(diagnostics.errors());
  return std::move(*machine);
}

std::string machine_folder() {
  if (const std::string data = variable("XDG_DATA_HOME"); data.starts_with('/'))
    return data + "/acid/machines";
  const std::string home = variable("HOME");
  return home.empty() ? "" : home + "/.local/share/acid/machines";
}

bool is_machine_name(std::string_view name) {
  constexpr std::string_view kAllowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  return !name.empty() && name.size() <= 100 && name.front() != '.' && name.front() != '-' &&
         !name.ends_with(kSuffix) && name.find_first_not_of(kAllowed) == std::string_view::npos;
}

std::vector<NamedMachine> known_machines(const fs::path& recipe_folder) {
  std::vector<NamedMachine> all;
  for (const fs::path& folder : folders_for(recipe_folder))
    for (NamedMachine& one : machines_in(folder)) all.push_back(std::move(one));
  for (const MachineText& shipped : machine_texts())
    all.push_back(
        {.name = std::string(shipped.name), .path = {}, .text = std::string(shipped.text)});
  std::ranges::stable_sort(all, {}, &NamedMachine::name);
  // One file may be in two places, as where acid's own recipes are.
  const auto is_again = [&](std::size_t i) {
    for (std::size_t j = 0; j < i; ++j)
      if (all[j].name == all[i].name && all[j].text == all[i].text) return true;
    return false;
  };
  std::vector<NamedMachine> kept;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (is_again(i)) continue;
    kept.push_back(all[i]);
    kept.back().is_hidden = kept.size() > 1 && kept[kept.size() - 2].name == all[i].name;
  }
  return kept;
}

NamedMachine find_machine(const std::string& name, const fs::path& recipe_folder) {
  if (name.ends_with(kSuffix))
    return machine_in(fs::absolute(recipe_folder / name).lexically_normal());
  std::error_code none;
  for (const fs::path& folder :
       is_machine_name(name) ? folders_for(recipe_folder) : std::vector<fs::path>())
    if (const fs::path file = folder / (name + std::string(kSuffix));
        fs::is_regular_file(file, none))
      return machine_in(file);
  const std::vector<NamedMachine> known = known_machines(recipe_folder);
  const auto found = std::ranges::find(known, name, &NamedMachine::name);
  if (found != known.end()) return *found;
  std::vector<std::string> names;
  for (const NamedMachine& one : known)
    if (!one.is_hidden) names.push_back(one.name);
  throw UsageError(
      fmt::format("there is no machine '{}'; {}", clip(name, 60), did_you_mean(name, names)));
}

}  // namespace acid

#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/methods/network.hpp"
#include "recipes/diagnostics.hpp"

namespace acid {

/// What a machine file says (docs/MACHINES.md). Its name is that of the file.
struct Machine {
  std::string date;    // "2026-11-27", "2026-11" or "2026"
  std::string source;  // who measured it, and how
  nlohmann::json environment;

  /// What the gradients are of.
  struct Model {
    std::string name;
    std::int64_t parameters = 0;
    std::optional<std::int64_t> batch_size;
  };
  std::optional<Model> model;

  /// Durations of one worker's gradients while as many workers as `workers_per_node` compute on its
  /// host.
  struct Gradients {
    std::string host;  // empty: any
    int workers_per_node = 1, threads = 1;
    double mean_seconds = 0;
    std::vector<double> quantiles;  // in any unit (engine/base/quantiles.hpp); empty: all alike
  };
  std::vector<Gradients> gradients;

  /// Absent: not measured.
  struct Link {
    std::optional<double> latency_seconds, bytes_per_second;
    bool is_known() const { return latency_seconds || bytes_per_second; }
  };
  /// One size of message that was timed.
  struct Message {
    bool inside = false;  // a node; else between two
    double bytes = 0, seconds = 0;
  };
  struct AllReduce {
    int workers = 1;
    double bytes = 0, seconds = 0;
  };
  struct Network {
    Link between;  // nodes
    std::optional<Link> inside;
    std::optional<std::string> all_reduce;
    std::optional<double> backend_factor, window_bytes;
    std::optional<ExchangeOverhead> overhead;
    std::vector<Message> messages;
    std::vector<AllReduce> all_reduces;
  } network;

  struct Cost {
    std::optional<double> exchange_seconds, sample_seconds;
    std::optional<std::int64_t> bucket_bytes;
  } cost;

  std::optional<int> workers_per_node;
  std::optional<double> variation;  // of whole runs, as VirtualOptions::variation

  nlohmann::json document;  // the file, checked; keys that it lacks have their defaults, or lack
};

/// Reports each mistake in `diagnostics`, which is of that file; nothing then.
std::optional<Machine> read_machine(std::string_view text, Diagnostics& diagnostics);
/// The same; throws RecipeError. `path`: for messages.
Machine machine_of(const std::string& path, std::string_view text);

/// A machine that comes with acid.
struct MachineText {
  std::string_view name, text;
};
std::span<const MachineText> machine_texts();

/// A machine file by its name. Names are looked up in the folder `machines` beside the recipe, then
/// in machine_folder(), then among those that come with acid.
struct NamedMachine {
  std::string name;
  std::string path;  // empty: it comes with acid
  std::string text;
  bool is_hidden = false;  // another of this name comes first, and says something else
};

/// $XDG_DATA_HOME/acid/machines, where `acid machines import` puts files; by default in
/// ~/.local/share. Empty where there is no home.
std::string machine_folder();

/// All, by name, those of one name in the order in which they are looked up.
std::vector<NamedMachine> known_machines(const std::filesystem::path& recipe_folder);
/// The one that a recipe in that folder means by a name, or by the path of a .toml file. Throws
/// UsageError that says what there is.
NamedMachine find_machine(const std::string& name, const std::filesystem::path& recipe_folder);
/// Letters, digits, dots, dashes and underscores; no dot in front, no ".toml" behind.
bool is_machine_name(std::string_view name);

}  // namespace acid

#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "recipes/machine_file.hpp"

namespace acid {

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

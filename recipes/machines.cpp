#include "recipes/machines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "engine/base/error.hpp"
#include "engine/base/names.hpp"
#include "engine/base/utf8.hpp"
#include "recipes/parse.hpp"

namespace acid {
namespace {

namespace fs = std::filesystem;

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

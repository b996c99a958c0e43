#include "recipes/methods.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>

#include "engine/base/utf8.hpp"
#include "engine/methods/common_fields.hpp"
#include "engine/methods/listed.hpp"
#include "recipes/parse.hpp"
#include "recipes/sections.hpp"

namespace acid {
namespace {

constexpr Field kFileField{.name = "file",
                           .type = FieldType::file,
                           .fallback = {},
                           .help = "a file of listings: one at its top, or [[methods]]"};

// Keys of [[algorithms]] and of their settings beside the method's own parameters.
bool is_algorithm_key(const Listing& listing, std::string_view name) {
  return table_of("algorithm").find(name) != nullptr || name == "kind" || name == "listing" ||
         name == kSaturates || name == kCommunicationRateField.name ||
         (listing.peers == Peers::neighbours &&
          (name == kWeightsField.name || name == kExchangeField.name));
}

/// Reports every number that is larger than `most`, or none. Vectors have 32-bit elements.
bool are_numbers(const Node& node, Diagnostics& out,
                 double most = std::numeric_limits<double>::max()) {
  bool all = true;
  if (node.key == "keep") most = std::numeric_limits<float>::max();
  if (node.type == Node::Type::number && !(std::abs(node.scalar.get<double>()) <= most)) {
    out.error(node.place, fmt::format("{} is no number to compute with", describe(node)),
              "write a finite one; elements of vectors are float32");
    all = false;
  }
  for (const Node& child : node.children) all = are_numbers(child, out, most) && all;
  return all;
}

// The value at the listing's path; a single text stands for a list of one.
const Node* node_of(const Node& table, const std::string& path) {
  const Node* node = &table;
  for (const std::string& name : split_path(path)) {
    if (node->is_text()) return node;
    if (node->is_list()) {
      const auto index = static_cast<std::size_t>(std::atoi(name.c_str()));
      node = index < node->children.size() ? &node->children[index] : nullptr;
    } else {
      node = node->find(name);
    }
    if (node == nullptr) return nullptr;
  }
  return node;
}

// The place of a finding's character if the text is in the file unchanged; otherwise of its key.
Place place_of_finding(const Node& table, const Finding& finding) {
  const Node* const node = node_of(table, finding.path);
  if (node == nullptr) {
    const Place nearest = place_of(table, finding.path);
    return nearest.line > 0 ? nearest : table.place;
  }
  Place place = node->place;
  const bool as_written =
      node->is_text() && place.length == static_cast<int>(printable(node->text()).size()) + 2;
  if (finding.column == 0) return node->key.empty() ? place : node->key_place;
  if (!as_written) return place;
  place.column += finding.column;
  place.length = 1;
  return place;
}

// Names are printed on terminals, on pages and in file names.
bool is_method_name(const std::string& name) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  return name.size() <= kLongestName && is_letter(name[0]) &&
         std::ranges::all_of(name, [&](char c) {
           return is_letter(c) || (c >= '0' && c <= '9') || c == '-' || c == '_';
         });
}

class MethodReader {
 public:
  explicit MethodReader(Checker& checker) : checker_(checker) {}

  void read(const Node& table, Diagnostics& out) {
    if (!table.is_table()) {
      out.error(table.place, fmt::format("a method is a table, not {}", describe(table)),
                "write [[methods]] and its keys below");
      return;
    }
    std::vector<Finding> findings;
    std::optional<Listing> listing;
    if (are_numbers(table, out)) listing = read_listing(json_of(table), findings);
    for (const Finding& finding : findings)
      out.error(place_of_finding(table, finding), finding.message, finding.remedy);
    if (!listing) {
      if (const Node* const name = table.find("name"); name != nullptr && name->is_text())
        broken.insert(name->text());
      return;
    }
    if (const Node* const label = table.find("label"); label != nullptr && is_blank(label->text()))
      out.error(label->place, "label is empty", "write a name, or remove the key");
    for (const char* const key : {"label", "summary", "source"})
      if (const Node* const text = table.find(key); text != nullptr && !is_showable(text->text()))
        out.error(text->place,
                  fmt::format("{} has a control character, or one that changes the direction of "
                              "writing",
                              key),
                  "write it with characters that can be seen");
    for (const ListedParameter& one : listing->parameters)
      if (is_algorithm_key(*listing, one.name)) {
        broken.insert(listing->name);
        return out.error(place_of(table, "parameters." + one.name),
                         fmt::format("'{}' is a key of every algorithm of this kind", one.name),
                         "choose another name for the parameter");
      }
    if (!listing->name.empty() && !is_method_name(listing->name)) {
      broken.insert(listing->name);
      return out.error(table.find("name")->place,
                       fmt::format("'{}' is no name of a method", clip(listing->name, 40)),
                       "use letters, digits, - and _, a letter first, at most 40 characters");
    }
    if (listing->name.empty())
      return out.error(table.place, "a method needs a name",
                       "add name = \"…\", which [[algorithms]] give as kind");
    const bool known = find_algorithm(listing->name) != nullptr ||
                       std::ranges::any_of(entries, [&](const AlgorithmEntry* entry) {
                         return entry->name == listing->name;
                       });
    if (known)
      return out.error(table.find("name")->place,
                       fmt::format("there is a method '{}' already", listing->name),
                       "choose another name");
    entries.push_back(&listed_entry(*listing));
  }

  /// The [[methods]] of a file of listings; without them, reads the one listing at its top.
  const Node* read_top(const Node& root, Diagnostics& out) {
    const Node* const list = root.find("methods");
    if (list == nullptr || !list->is_list()) {
      read(root, out);
      return nullptr;
    }
    const auto other = std::ranges::find_if(
        root.children, [&](const Node& child) { return child.key != list->key; });
    if (other == root.children.end()) return list;
    const Node* const name = root.find("name");
    const bool named = name != nullptr && name->is_text();
    if (named) broken.insert(name->text());
    out.error(other->key_place,
              fmt::format("the file has {} beside [[methods]], and only one of the two is read",
                          named ? fmt::format("the listing '{}' at its top", clip(name->text(), 40))
                                : fmt::format("'{}'", clip(other->key, 40))),
              "write each listing below a [[methods]], and its tables as [methods.keep]");
    return list;
  }

  void read_file(const Node& named) {
    Diagnostics& out = checker_.diagnostics();
    const auto path = checker_.value(named, kFileField, "methods.file");
    if (!path) return;
    std::string text;
    try {
      text = recipe_text(path->get<std::string>());
    } catch (const UsageError& error) {
      return out.error(named.place, error.what(), "name a TOML file of listings");
    }
    Diagnostics own(path->get<std::string>(), text, {});
    if (const auto root = parse_recipe(text, own))
      if (const Node* const list = read_top(*root, own))
        for (const Node& table : list->children) read(table, own);
    out.adopt(own);
  }

  std::vector<const AlgorithmEntry*> entries;
  std::set<std::string> broken;

 private:
  Checker& checker_;
};

}  // namespace

std::vector<const AlgorithmEntry*> recipe_methods(const Node* list, Checker& checker,
                                                  std::set<std::string>& broken) {
  MethodReader reader(checker);
  if (list == nullptr ||
      !checker.is_type(list, Node::Type::list, "methods", "a list of tables, [[methods]]"))
    return {};
  for (const Node& table : list->children) {
    const Node* const file = table.find("file");
    if (file == nullptr) {
      reader.read(table, checker.diagnostics());
      continue;
    }
    for (const Node& other : table.children)
      if (other.key != "file")
        checker.diagnostics().error(other.key_place, "a method is in a file or here, not in both",
                                    "remove this key, or file");
    reader.read_file(*file);
  }
  broken = reader.broken;
  return reader.entries;
}

std::vector<const AlgorithmEntry*> methods_of_recipe(const std::string& path) {
  const std::string text = recipe_text(path);
  Diagnostics diagnostics(path, text, {});
  std::vector<const AlgorithmEntry*> entries;
  std::set<std::string> broken;
  if (const auto root = parse_recipe(text, diagnostics)) {
    Checker checker(diagnostics, std::filesystem::path(path).parent_path());
    bool is_recipe = false;
    for (const char* const section : {"task", "algorithms"})
      is_recipe = is_recipe || root->find(section) != nullptr;
    MethodReader top(checker);
    const Node* const list = is_recipe ? root->find("methods") : top.read_top(*root, diagnostics);
    entries = recipe_methods(list, checker, broken);
    entries.insert(entries.end(), top.entries.begin(), top.entries.end());
  }
  if (diagnostics.has_errors()) throw RecipeError(diagnostics.errors());
  return entries;
}

}  // namespace acid

#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/base/fields.hpp"

namespace acid {

// A key of a recipe is declared once, with the member that it fills:
//
//   constexpr Fields kSgd = fields<OptimizerSettings>({
//       key<&OptimizerSettings::momentum>("momentum", "0.0", "share of …", at_least(0).below(1)),
//       …});
//
// Its Field checks, completes and documents recipes (recipes/checker.hpp, recipes/reference.hpp);
// kSgd.fill() reads resolved JSON into the members. A key that is added to a table that runs have
// needs `.later()`, otherwise the ids of all runs change and none is found again.

using Kind = FieldTable::Kind;

struct Bounds {
  double minimum = -std::numeric_limits<double>::infinity();
  double maximum = std::numeric_limits<double>::infinity();
  bool minimum_excluded = false, maximum_excluded = false;
  constexpr Bounds at_most(double most) const { return {minimum, most, minimum_excluded, false}; }
  constexpr Bounds below(double limit) const { return {minimum, limit, minimum_excluded, true}; }
};
constexpr Bounds at_least(double least) { return {.minimum = least}; }
constexpr Bounds above(double limit) { return {.minimum = limit, .minimum_excluded = true}; }

/// Of simulated durations in seconds, and of factors by which they grow: more would add up to what
/// no number holds.
constexpr double kLongest = 1e12;
constexpr Bounds kDuration = at_least(0).at_most(kLongest);

/// A field, and the function that reads its value in resolved JSON into members of a T; nullptr: it
/// is read together with other keys.
template <class T>
struct Key {
  using Read = void (*)(T& members, const nlohmann::json& value, const Field& field);
  Field field;
  Read read = nullptr;

  constexpr Key as(FieldType type) const { return with(&Field::type, type); }
  /// A new key of an old table: at its fallback it is left out of settings, so that runs keep their
  /// ids. The member's initial value is that fallback.
  constexpr Key later() const { return with(&Field::later, true); }
  /// A new key whose value is in settings always: runs get new ids, on purpose, and settings that
  /// an earlier acid stored, which lack it, are still read.
  constexpr Key added() const { return with(&Field::added, true); }
  constexpr Key apart() const { return with(&Field::apart, true); }
  constexpr Key among(std::string_view choices) const { return with(&Field::choices, choices); }
  constexpr Key of(const FieldTable& table) const { return with(&Field::table, &table); }
  constexpr Key either(std::uint8_t groups) const { return with(&Field::either, groups); }
  constexpr Key searched() const { return with(&Field::searched, true); }
  constexpr Key placement() const { return with(&Field::placement, true); }
  constexpr Key unused(const char* (*why)(const RunInUse& run)) const {
    return with(&Field::unused, why);
  }
  constexpr Key ranked(int rank) const { return with(&Field::rank, rank); }
  /// Replaces the reference's texts; an empty text replaces nothing.
  constexpr Key said(std::string_view words, std::string_view meaning,
                     std::string_view example) const {
    return with(&Field::words, words).with(&Field::meaning, meaning).with(&Field::example, example);
  }

 private:
  template <class V>
  constexpr Key with(V Field::*member, V value) const {
    Key changed = *this;
    changed.field.*member = value;
    return changed;
  }
};

/// Follows pointers to members, one in the other: member_of<&A::b, &B::c>(a) is a.b.c.
template <class T>
constexpr T& member_of(T& members) {
  return members;
}
template <auto first, auto... rest, class T>
constexpr auto& member_of(T& members) {
  return member_of<rest...>(members.*first);
}

/// A path of pointers to members: the class that it starts from and the type that it leads to. A
/// path of no pointers has no class.
template <auto... path>
struct Path {
  using Class = void;
};
template <class T, class V, V T::*first, auto... rest>
struct Path<first, rest...> {
  using Class = T;
  using Value = std::remove_cvref_t<decltype(member_of<first, rest...>(std::declval<T&>()))>;
};
template <auto... path>
using ClassOf = typename Path<path...>::Class;
template <auto... path>
using ValueOf = typename Path<path...>::Value;

template <class V>
struct Plain {
  using Type = V;
};
template <class V>
struct Plain<std::optional<V>> {
  using Type = V;
};

template <class V>
constexpr FieldType type_of() {
  if (std::is_same_v<V, bool>) return FieldType::boolean;
  if (std::is_integral_v<V>) return FieldType::integer;
  if (std::is_floating_point_v<V>) return FieldType::number;
  if (std::is_same_v<V, std::vector<int>>) return FieldType::integers;
  if (std::is_same_v<V, std::vector<double>>) return FieldType::numbers;
  if (std::is_same_v<V, std::vector<std::string>>) return FieldType::texts;
  if (std::is_same_v<V, nlohmann::json>) return FieldType::table;
  return FieldType::text;
}

/// A key without its own member, or with its own way of reading.
template <class T>
constexpr Key<T> key_of(std::string_view name, FieldType type, std::string_view fallback,
                        std::string_view help, Bounds bounds = {},
                        typename Key<T>::Read read = nullptr) {
  return {{name, type, fallback, help, bounds.minimum, bounds.maximum, bounds.minimum_excluded,
           bounds.maximum_excluded},
          read};
}

/// A key for the member at the path; the member's type gives the key's type.
template <auto... path>
constexpr auto key(std::string_view name, std::string_view fallback, std::string_view help,
                   Bounds bounds = {}) {
  using T = ClassOf<path...>;
  using Held = typename Plain<ValueOf<path...>>::Type;
  return key_of<T>(name, type_of<Held>(), fallback, help, bounds,
                   [](T& members, const nlohmann::json& value, const Field&) {
                     auto& member = member_of<path...>(members);
                     if constexpr (std::is_same_v<Held, ValueOf<path...>>)
                       member = value.get<Held>();
                     else
                       member = value.is_null() ? std::nullopt : std::optional(value.get<Held>());
                   });
}

template <auto... values>
struct Values {};

/// Which of the field's choices the text is, from 0. Throws std::invalid_argument for any other.
inline std::size_t index_of_choice(const Field& field, const nlohmann::json& value) {
  const std::vector<std::string> choices = split_choices(field.choices);
  const auto found = std::ranges::find(choices, value.get<std::string>());
  if (found == choices.end())
    throw std::invalid_argument("it is none of " + std::string(field.choices));
  return static_cast<std::size_t>(found - choices.begin());
}

/// A text that is one of `choices`, with commas between them: in their order they are `values` of
/// the member.
template <auto... path, auto... values>
constexpr auto choice(std::string_view name, std::string_view choices, std::string_view fallback,
                      std::string_view help, Values<values...> /*of the member*/) {
  using T = ClassOf<path...>;
  return key_of<T>(name, FieldType::text, fallback, help, {},
                   [](T& members, const nlohmann::json& value, const Field& field) {
                     constexpr std::array of_choices{values...};
                     member_of<path...>(members) = of_choices.at(index_of_choice(field, value));
                   })
      .among(choices);
}

/// The keys of a table whose members are a T's.
template <class T, std::size_t N>
struct Fields {
  using Members = T;
  std::array<Field, N> fields = {};
  std::array<typename Key<T>::Read, N> reads = {};

  /// From resolved JSON; what is null or may be absent leaves its member alone. Throws
  /// nlohmann::json::exception and std::logic_error where the JSON is of another form.
  void fill(T& members, const nlohmann::json& section) const {
    if (!section.is_object()) throw std::invalid_argument("a value where a table belongs");
    for (std::size_t i = 0; i < N; ++i) {
      const Field& field = fields[i];
      const std::string name(field.name);
      const bool may_lack = field.later || field.added;
      if (reads[i] == nullptr || (may_lack && !section.contains(name))) continue;
      const nlohmann::json& value = section.at(name);
      if (!value.is_null() || !(may_lack || field.fallback == "null"))
        reads[i](members, value, field);
    }
  }
};
template <class T, std::size_t N>
constexpr Fields<T, N> fields(const Key<T> (&keys)[N]) {
  Fields<T, N> all;
  for (std::size_t i = 0; i < N; ++i) {
    all.fields[i] = keys[i].field;
    all.reads[i] = keys[i].read;
  }
  return all;
}

/// Adds a kind for each entry of a catalog.
template <class Entry>
void add_kinds(std::vector<Kind>& kinds, std::span<const Entry> catalog) {
  for (const Entry& entry : catalog) {
    kinds.push_back({entry.name, entry.fields});
    if constexpr (requires { entry.summary; }) kinds.back().summary = entry.summary;
  }
}

/// A kind of a table, and how it is read into the members: its name and its own keys.
template <class T>
struct KindOf {
  Kind kind;
  void (*fill)(T& members, const nlohmann::json& section);
};
template <auto& own, auto... path, auto value>
constexpr auto kind(std::string_view name, std::string_view summary, Values<value>) {
  return KindOf<ClassOf<path...>>{{name, own.fields, summary},
                                  [](auto& members, const nlohmann::json& section) {
                                    member_of<path...>(members) = value;
                                    own.fill(members, section);
                                  }};
}
template <class T>
inline constexpr Fields<T, 0> kNoKeys{};

/// The keys of a table with kinds: common ones, then those of each kind.
template <class T, std::size_t N, std::size_t K>
struct KindedFields {
  using Members = T;
  Fields<T, N> common = {};
  std::string_view fallback = {};
  std::array<Kind, K> kinds = {};
  std::array<void (*)(T& members, const nlohmann::json& section), K> fills = {};

  void fill(T& members, const nlohmann::json& section) const {
    common.fill(members, section);
    const auto named = std::ranges::find(kinds, text(section, "kind"), &Kind::name);
    if (named == kinds.end())
      throw std::invalid_argument("there is no kind " + text(section, "kind"));
    fills[static_cast<std::size_t>(named - kinds.begin())](members, section);
  }
};
template <class T, std::size_t N, std::size_t K>
constexpr KindedFields<T, N, K> kinded(const Fields<T, N>& common, std::string_view fallback,
                                       const KindOf<T> (&kinds)[K]) {
  KindedFields<T, N, K> all{.common = common, .fallback = fallback};
  for (std::size_t i = 0; i < K; ++i) {
    all.kinds[i] = kinds[i].kind;
    all.fills[i] = kinds[i].fill;
  }
  return all;
}

/// The FieldTable of `declared`, Fields or KindedFields.
template <auto& declared>
constexpr FieldTable table_of() {
  if constexpr (requires { declared.kinds; })
    return {declared.common.fields, [] { return std::span<const Kind>(declared.kinds); },
            declared.fallback};
  else
    return {.fields = declared.fields};
}
template <auto& declared>
inline constexpr FieldTable kTableOf = table_of<declared>();

/// A table in a table, for the member at the path, which may be optional; without a path, for the
/// same members. `fallback`: the value if a recipe leaves the table out.
template <auto& declared, auto... path>
constexpr auto section(std::string_view name, std::string_view help,
                       std::string_view fallback = {}) {
  using Members = typename std::remove_cvref_t<decltype(declared)>::Members;
  using T = std::conditional_t<sizeof...(path) == 0, Members, ClassOf<path...>>;
  return key_of<T>(name, FieldType::section, fallback, help, {},
                   [](T& members, const nlohmann::json& value, const Field&) {
                     auto& member = member_of<path...>(members);
                     if constexpr (std::is_same_v<decltype(member), Members&>) {
                       declared.fill(member, value);
                     } else {
                       Members filled{};
                       declared.fill(filled, value);
                       member = std::move(filled);
                     }
                   })
      .of(kTableOf<declared>);
}

/// A table that is stored in its member as JSON, for a catalog entry to read.
template <auto... path>
constexpr auto entry(std::string_view name, std::string_view help, const FieldTable& table) {
  return key<path...>(name, "", help).as(FieldType::section).of(table);
}

}  // namespace acid

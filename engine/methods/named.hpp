#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string_view>

#include "engine/language/listed_programs.hpp"
#include "engine/methods/method.hpp"

namespace acid {

/// A method of the catalog whose runs are known by its name: their settings do not have the
/// listing, so its text may change as long as it says the same. Here is what the listing does not
/// say.
struct NamedMethod {
  std::string_view name;
  std::span<const Field> choices = {};  // options in words
  std::span<const Shown> shown = {};    // numbers that adapt() has put among the values
  const char* (*no_effect)(std::string_view option, const nlohmann::json& options,
                           bool gossips) = nullptr;  // AlgorithmEntry::no_effect
  /// The listing to execute with these options. `values` has the numbers of `options`, and gets
  /// those that follow from the graph.
  std::shared_ptr<const Listing> (*adapt)(const std::shared_ptr<const Listing>& listing,
                                          const nlohmann::json& options, const Spectral* nominal,
                                          ParameterValues& values) = nullptr;
};

/// In the catalog's order, in which they come first.
std::span<const NamedMethod> named_methods();

}  // namespace acid

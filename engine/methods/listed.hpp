#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "engine/language/listing.hpp"
#include "engine/methods/method.hpp"

namespace acid {

/// The entry of a method that is a listing. One of a canonical form and a name is made once and
/// stays as long as the program. Any thread.
const AlgorithmEntry& listed_entry(const Listing& listing);

/// The same of what a run's settings have of the method in "listing", where they have it; else the
/// catalog's. Throws Error where it is none of this program's.
const AlgorithmEntry& algorithm_of(const nlohmann::json& algorithm);

/// What an entry computes: its own listing, or that which a kernel has the bits of. Absent where
/// the catalog has none.
std::optional<Listing> listing_of(const AlgorithmEntry& entry);
/// The formula of other parameters that a parameter's default is; empty: it is a value.
std::string default_formula(const AlgorithmEntry& entry, std::string_view parameter);

/// Why the method cannot be run on the graph: "it needs lambda_min >= -1/3, here it is -0.5".
/// Nothing where it can.
std::optional<std::string> unmet_need(const AlgorithmEntry& entry, const Method& method,
                                      const Topology& topology);

/// Whether the method's messages are x itself, of which what a codec leaves out is not a small
/// change but a part of the model.
bool says_models(const AlgorithmEntry& entry);

/// Whether what is computed of a gradient is the worker's own step alone, but for an all-reduce of
/// gradients before it: then the step may be given another vector in its place.
bool steps_by_gradients(const AlgorithmEntry& entry);

/// Whether anything in a run of the method depends on who is whose neighbour. False where in every
/// exchange all workers hear all, or each a server, and nothing reads a worker's `degree`.
bool reads_graph(const AlgorithmEntry& entry, const Method& method);

/// A vector or number beside x that adds up what is heard from exchange to exchange, as in
/// s = s + mean(0), and is not what is averaged itself: it means one graph. Empty: there is none.
std::string adds_up(const AlgorithmEntry& entry);

/// A listing that is shipped, engine/methods/listings/*.toml.
struct ListingText {
  std::string_view name;  // of the method
  std::string_view text;  // TOML, with its comments
};
std::span<const ListingText> listing_texts();
/// Empty where the catalog has no listing of that name.
std::string_view listing_text(std::string_view name);

/// A table of TOML as JSON. Throws UsageError where it is none.
nlohmann::json json_of_toml(std::string_view text);

}  // namespace acid

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/language/listing.hpp"

namespace acid {

/// Finds what is wrong with a listing whose texts are parsed: names that nobody knows, types, what
/// is read where it is not known, updates that would be lost. Fills in what follows from the texts.
void check_listing(Listing& listing, std::vector<Finding>& findings);

/// Adds what was found in the table at `path` of a listing.
void add_below(const std::string& path, const std::vector<Finding>& found,
               std::vector<Finding>& findings);

/// Whether every say and hear of the round lies between a gradient and its step, and whether a step
/// lies between a say and its hear.
struct RoundShape {
  bool speaks_of_gradients = true, steps_while_heard = false;
};
RoundShape shape_of(const Round& round);

/// The codec of a listing, {kind, …} with all its keys; null: none, or something is wrong with it.
nlohmann::json listed_codec(const nlohmann::json& given, std::vector<Finding>& findings);

/// Whether there is a vector that the listing's sums of pulls are of.
void check_pulled(const Listing& listing, std::vector<Finding>& findings);

/// The part of it that is of a listing whose every text is right by itself: lost updates, and what
/// nobody reads.
void check_use(Listing& listing, const RoundShape& shape, std::vector<Finding>& findings);

/// Whether a worker and its server, or a hub and the one above, hear what the other sends, each of
/// them right by itself.
void check_messages_of_server(const Listing& listing, std::vector<Finding>& findings);

/// chi1 and chi2, which formulas of parameters may read.
bool is_graph_number(std::string_view name);

/// Names that mean something in every listing: x, g, lr, …
bool is_reserved(std::string_view name);

/// Whether a listing may call something of its own so, reserved or not.
bool is_name(const std::string& text);

/// A round's words and signs, one blank apart.
std::string spaced(std::string_view round);

}  // namespace acid

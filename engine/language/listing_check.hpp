#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/language/listing.hpp"

namespace acid {

/// Finds the faults of a listing whose texts are parsed: unknown names, wrong types, reads of
/// undefined values, lost updates. Fills in facts that follow from the texts.
void check_listing(Listing& listing, std::vector<Finding>& findings);

/// Adds the findings of the table at `path` of a listing.
void add_below(const std::string& path, const std::vector<Finding>& found,
               std::vector<Finding>& findings);

/// Whether every say and hear of the round is between a gradient and its step, and whether a step
/// is between a say and its hear.
struct RoundShape {
  bool speaks_of_gradients = true, steps_while_heard = false;
};
RoundShape shape_of(const Round& round);

/// The codec of a listing, {kind, …} with all its keys; null: none, or it has a fault.
nlohmann::json listed_codec(const nlohmann::json& given, std::vector<Finding>& findings);

/// Checks that each sum of pulls belongs to a vector that is sent.
void check_pulled(const Listing& listing, std::vector<Finding>& findings);

/// The checks that need all texts to be right one by one: lost updates, and names that are never
/// read.
void check_use(Listing& listing, const RoundShape& shape, std::vector<Finding>& findings);

/// Checks that a worker and its server, or a hub and the server above, hear what the other sends.
/// Each part must be right by itself.
void check_messages_of_server(const Listing& listing, std::vector<Finding>& findings);

/// Whether the name is chi1 or chi2, which formulas of parameters may read.
bool is_graph_number(std::string_view name);

/// Whether the name has a meaning in every listing: x, g, lr, …
bool is_reserved(std::string_view name);

/// Whether the text has the form of a name, reserved or not.
bool is_name(const std::string& text);

/// A round's words and signs, one blank apart.
std::string spaced(std::string_view round);

}  // namespace acid

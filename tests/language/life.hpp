#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "engine/language/listing.hpp"
#include "engine/methods/method.hpp"
#include "engine/worker/worker_settings.hpp"

namespace acid::test {

/// The state of a worker, or a message, after an event.
struct Left {
  std::string what;
  std::vector<float> values;
};
using Lives = std::vector<Left>;

/// A worker of a method goes through a list of events with that backend: every backend must leave
/// the same state.
Lives live(const Method& method, const OptimizerSettings& optimizer, std::size_t size,
           const Backend& backend);
/// As above with several optimisers, and vectors of these sizes.
Lives live(const Listing& listing, const std::vector<std::size_t>& sizes, const Backend& backend);
/// The message of a worker with these elements.
std::vector<float> say(const Method& method, const std::vector<float>& start,
                       const Backend& backend);

std::vector<float> read_after_a_step(const Method& method, const std::vector<float>& start,
                                     const Backend& backend);

/// Fails at the first bit in which they differ.
void check_same(const Lives& lives, const Lives& expected);

/// The listing of a table, which must have no fault.
Listing checked(const nlohmann::json& table);
/// A method of reductions and conditions.
Listing listing_with_reductions();
std::vector<Listing> shipped_listings();

}  // namespace acid::test

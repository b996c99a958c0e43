#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "engine/language/listing.hpp"
#include "engine/methods/method.hpp"
#include "engine/worker/worker_settings.hpp"

namespace acid::test {

/// What an event has left of a worker, or of a message.
struct Left {
  std::string what;
  std::vector<float> values;
};
using Lives = std::vector<Left>;

/// A worker of a method lives through events with that backend: whoever executes its parts there
/// leaves the same.
Lives live(const Method& method, const OptimizerSettings& optimizer, std::size_t size,
           const Backend& backend);
/// With several optimisers, and vectors of these sizes.
Lives live(const Listing& listing, const std::vector<std::size_t>& sizes, const Backend& backend);
/// A worker of these elements says a message.
std::vector<float> say(const Method& method, const std::vector<float>& start,
                       const Backend& backend);

std::vector<float> read_after_a_step(const Method& method, const std::vector<float>& start,
                                     const Backend& backend);

/// Fails where they differ, in the first bit that does.
void check_same(const Lives& lives, const Lives& expected);

/// The listing of a table, which has no fault.
Listing checked(const nlohmann::json& table);
/// A method of reductions and conditions.
Listing listing_with_reductions();
std::vector<Listing> shipped_listings();

}  // namespace acid::test

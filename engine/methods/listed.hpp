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

/// The entry of a method that is a listing. It is made once per canonical form and name, and lives
/// as long as the program. Any thread.
const AlgorithmEntry& listed_entry(const Listing& listing);

/// The entry of the method in a run's settings: the one of its "listing" if there is one, else the
/// catalog's. Throws Error when this program does not have it.
const AlgorithmEntry& algorithm_of(const nlohmann::json& algorithm);

/// A parameter's default as a formula of other parameters; empty: the default is a value.
std::string default_formula(const AlgorithmEntry& entry, std::string_view parameter);

/// Why the method cannot run on the graph: "it needs lambda_min >= -1/3, here it is -0.5". Absent
/// when it can, and lambda_min may even be less by `margin`.
std::optional<std::string> unmet_need(const AlgorithmEntry& entry, const Method& method,
                                      const Topology& topology, double margin = 0);

/// Whether the method's messages are models; then what a codec leaves out is a part of the model,
/// not a small change.
bool says_models(const AlgorithmEntry& entry);
/// Whether x becomes the mean of such messages, the worker's own among them as it was sent.
bool takes_mean_as_model(const AlgorithmEntry& entry);
/// Whether workers average a vector or number beside x, so that its sum over the workers has a
/// meaning.
bool averages_kept(const AlgorithmEntry& entry);
/// A vector beside x that is heard and whose square root is taken; empty: there is none.
std::string root_of_heard(const AlgorithmEntry& entry);
/// Whether workers say later what a codec left out or changed: `hear` changes, by the worker's own
/// message as it was sent, a vector that `send` says.
bool corrects_codec(const AlgorithmEntry& entry);

/// Whether workers that start apart stay as far apart: they exchange gradients, or changes of their
/// models, and never models. `options`: of the algorithm, resolved.
bool leaves_workers_apart(const AlgorithmEntry& entry, const nlohmann::json& options);
/// keeps_agreement() of a method whose peers are neighbours.
bool divides_by_what_it_sends(const AlgorithmEntry& entry, const Method& method);

/// Whether the step uses the mean of all gradients and nothing else, as DDP's does.
bool averages_gradients(const Listing& listing);
/// Whether a gradient is used only for the worker's own step, apart from an all-reduce of gradients
/// before it: then the step may get another vector in its place.
bool steps_by_gradients(const AlgorithmEntry& entry);
/// Whether what a worker hears of the others' models goes into its gradient.
bool averages_in_gradient(const AlgorithmEntry& entry);
/// Whether workers come to rest where their steps cancel, and not where each is small: a step reads
/// the sum of all pulls of models, or sends on how its gradient has changed.
bool corrects_bias(const AlgorithmEntry& entry);

/// Whether a run of the method depends on who is whose neighbour. False when in every exchange all
/// workers hear all, or each hears a server, and no part reads a worker's `degree`.
bool reads_graph(const AlgorithmEntry& entry, const Method& method);

/// A vector or number beside x that sums what is heard from exchange to exchange, as in s = s +
/// mean(0), and is not averaged itself: it requires one unchanging graph. Empty: there is none.
std::string adds_up(const AlgorithmEntry& entry);

/// A shipped listing, engine/methods/listings/*.toml.
struct ListingText {
  std::string_view name;  // of the method
  std::string_view text;  // TOML, with its comments
};
std::span<const ListingText> listing_texts();
/// Empty when the catalog has no listing of that name.
std::string_view listing_text(std::string_view name);

/// A TOML table as JSON. Throws UsageError when the text is none.
nlohmann::json json_of_toml(std::string_view text);

}  // namespace acid

// What follows from a method's listing: what it says, averages and needs.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/language/listed_programs.hpp"
#include "engine/language/listing_facts.hpp"
#include "engine/methods/listed.hpp"
#include "engine/topology/topology.hpp"

namespace acid {
namespace {

bool is_just(const std::vector<Statement>& statements, std::string_view text) {
  return statements.size() == 1 && print(statements.front()) == text;
}

bool takes_root_of(const Listing& listing, std::string_view name) {
  const auto is_root = [&](const Expression& one) {
    return one.operation == Operation::square_root && reads(one, name);
  };
  for (const auto* part : {&listing.step, &listing.say, &listing.hear})
    for (const Statement& one : *part)
      if (any_of(one, is_root)) return true;
  return false;
}

// Whether a message moves where x, and vectors that start as x, move by the same vector.
bool moves_with_models(const Listing& listing, const Expression& message) {
  const auto is_model = [&](const std::string& name) {
    const auto kept = std::ranges::find(listing.vectors, name, &Kept::name);
    return name == "x" || (kept != listing.vectors.end() && kept->starts_at_x);
  };
  const auto is_of_vectors = [](const Expression& one) { return one.operation >= Operation::norm; };
  if (any_of(message, is_of_vectors))
    return any_of(message, [&](const Expression& one) {
      return one.operation == Operation::name && is_model(one.name);
    });
  const auto at = [&](double models) {
    ParameterValues values;
    any_of(message, [&](const Expression& one) {
      if (one.operation == Operation::name) values[one.name] = is_model(one.name) ? models : 1;
      return false;
    });
    return formula_value(message, values);
  };
  return std::abs(at(2) - at(1)) > 1e-9;
}

}  // namespace

bool averages_gradients(const Listing& listing) {
  return listing.peers == Peers::all && !listing.fragments &&
         listing.round == "gradient say hear step" && listing.say.empty() &&
         is_just(listing.send, "g") && is_just(listing.hear, "g = mean(0)");
}

std::optional<std::string> unmet_need(const AlgorithmEntry& entry, const Method& method,
                                      const Topology& topology, double margin) {
  if (topology.workers() < 2) return std::nullopt;
  std::vector<Expression> needs = entry.listing->of_graph.needs;
  std::erase_if(needs, [](const Expression& need) { return !is_of_graph(need); });
  if (needs.empty()) return std::nullopt;
  if (topology.schedule())
    return fmt::format("{} needs {}, and the graph changes from exchange to exchange", entry.name,
                       print(needs.front()));
  const double least = least_eigenvalue(method.uniform_weights ? uniform_weights(topology)
                                                               : metropolis_weights(topology));
  for (const Expression& need : needs)
    if (formula_value(need, {{"lambda_min", least - margin}}) == 0)
      return fmt::format("{} needs {}, and on this graph lambda_min is {:.6g}", entry.name,
                         print(need), least);
  return std::nullopt;
}

bool reads_graph(const AlgorithmEntry& entry, const Method& method) {
  if (!method.has_server() && method.peers != Peers::all) return true;
  const Listing& listing = *entry.listing;
  for (const auto* part : {&listing.step, &listing.say, &listing.send, &listing.hear})
    for (const Statement& one : *part)
      if (reads(one, "degree")) return true;
  return reads(listing.point, "degree") || reads(listing.model, "degree");
}

std::string adds_up(const AlgorithmEntry& entry) {
  const Listing& listing = *entry.listing;
  for (const Statement& one : listing.hear) {
    if (one.target == "x" || !listing.keeps(one.target) || !reads(one, one.target)) continue;
    const auto of_others = [&](const Expression& value) {
      return value.operation == Operation::mean &&
             print(listing.send[value.index].value) != one.target;
    };
    if (any_of(one.value, of_others)) return one.target;
  }
  return {};
}

bool says_models(const AlgorithmEntry& entry) {
  const Listing& listing = *entry.listing;
  if (corrects_codec(entry)) return false;
  for (std::size_t m = 0; m < listing.send.size(); ++m)
    if (listing.sends_vector[m] && moves_with_models(listing, listing.send[m].value)) return true;
  return false;
}

bool averages_kept(const AlgorithmEntry& entry) {
  const Listing& listing = *entry.listing;
  return std::ranges::any_of(listing.hear, [&](const Statement& one) {
    const auto is_of_itself = [&](const Expression& part) {
      return part.operation == Operation::mean &&
             print(listing.send[part.index].value) == one.target;
    };
    return one.target != "x" && listing.keeps(one.target) && any_of(one.value, is_of_itself);
  });
}

std::string root_of_heard(const AlgorithmEntry& entry) {
  const Listing& listing = *entry.listing;
  const auto hears = [](const Expression& part) { return is_heard(part.operation); };
  for (const Statement& one : listing.hear)
    if (one.target != "x" && listing.keeps(one.target) && any_of(one.value, hears) &&
        takes_root_of(listing, one.target))
      return one.target;
  return {};
}

bool takes_mean_as_model(const AlgorithmEntry& entry) {
  const auto takes = [](const Statement& one) {
    return one.target == "x" && !reads(one, "x") && contains(one.value, Operation::mean);
  };
  return says_models(entry) && std::ranges::any_of(entry.listing->hear, takes);
}

bool corrects_codec(const AlgorithmEntry& entry) {
  const Listing& listing = *entry.listing;
  return std::ranges::any_of(listing.hear, [&](const Statement& one) {
    if (one.target == "x" || !listing.keeps(one.target) || !contains(one.value, Operation::mine))
      return false;
    return std::ranges::any_of(listing.send,
                               [&](const Statement& said) { return reads(said, one.target); });
  });
}

bool leaves_workers_apart(const AlgorithmEntry& entry, const nlohmann::json& options) {
  const Method method = entry.make(options, nullptr);
  if (method.has_server()) return false;
  return method.reduces_gradients || keeps_differences(*entry.listing, method.rules);
}

bool divides_by_what_it_sends(const AlgorithmEntry& entry, const Method& method) {
  return keeps_agreement(*entry.listing, method.rules);
}

bool steps_by_gradients(const AlgorithmEntry& entry) {
  if (averages_gradients(*entry.listing)) return true;
  bool steps = false, elsewhere = false;
  for (const PartUse& use : uses_of(*entry.listing))
    for (const auto* names : {&use.reads, &use.assigns})
      for (const std::string& name : *names)
        if (name == "g" || name == "u")
          (use.part == std::string_view("step") ? steps : elsewhere) = true;
  return steps && !elsewhere;
}

bool corrects_bias(const AlgorithmEntry& entry) {
  const Listing& listing = *entry.listing;
  const auto is = [](const Statement& one, std::string_view name) {
    return one.value.operation == Operation::name && one.value.name == name;
  };
  const auto is_sent = [&](std::string_view name) {
    return std::ranges::any_of(listing.send, [&](const Statement& said) { return is(said, name); });
  };
  const auto keeps_gradient = [&](const Kept& kept) {
    return std::ranges::any_of(listing.step, [&](const Statement& one) {
      return one.target == kept.name && is(one, "g");
    });
  };
  return std::ranges::any_of(listing.step, [&](const Statement& one) {
    return std::ranges::any_of(listing.vectors, [&](const Kept& kept) {
      if (!reads(one, kept.name)) return false;
      if (kept.pulled_by) return is(listing.send.at(*kept.pulled_by), "x");
      return keeps_gradient(kept) && reads(one, "g") && is_sent(one.target);
    });
  });
}

bool averages_in_gradient(const AlgorithmEntry& entry) {
  return std::ranges::any_of(entry.listing->hear, [](const Statement& one) {
    return one.target == "g" && contains(one.value, Operation::pull);
  });
}

}  // namespace acid

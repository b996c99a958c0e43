#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string_view>

#include "engine/base/fields.hpp"
#include "engine/base/mixing.hpp"
#include "engine/methods/all_reduce.hpp"
#include "engine/topology/spectral.hpp"

namespace acid {

/// How parameters travel.
enum class Pattern {
  all_reduce,  // mean of all gradients, every gradient, synchronous
  neighbours,  // weighted average with all neighbours, every gradient, synchronous
  pairwise,    // one partner at a time, asynchronous, at a communication rate
};

/// When a neighbour average happens relative to the gradient step.
enum class Order {
  combine_while_adapt,  // x ← Wx − γg(x): D-PSGD as published; communication overlaps compute
  adapt_then_combine,   // x ← W(x − γg(x))
};

/// A point in the space of algorithms, filled in by a preset and the recipe.
struct Method {
  std::string_view kind;  // the preset's name
  Pattern pattern = Pattern::pairwise;
  double rate = 0;                           // pairwise: communication rate r
  Mixing mixing = {};                        // pairwise
  Order order = Order::combine_while_adapt;  // neighbours
  bool uniform_weights = false;              // neighbours: uniform instead of Metropolis
};

/// Expected exchanges per worker and gradient: between two gradients a run must come to an end of
/// them, or it hears nothing.
inline constexpr double kMostCommunicationRate = 1e6;

struct AlgorithmEntry {
  std::string_view name;   // "a2cid2"
  std::string_view label;  // "A²CiD²"
  std::string_view summary;
  std::string_view source;  // arXiv id or project
  Pattern pattern;
  std::span<const Field> fields;  // besides kind, label and set
  /// `options` holds every field. `nominal` is null for n = 1 or patterns without a rate.
  Method (*make)(const nlohmann::json& options, const Spectral* nominal);
};

std::span<const AlgorithmEntry> algorithm_catalog();
/// nullptr when unknown.
const AlgorithmEntry* find_algorithm(std::string_view name);

/// Bytes sent per gradient, summed over workers ÷ gradients, for vectors of `vector_bytes`:
/// all-reduce all_reduce_vectors/n · M, neighbours M · mean degree, pairwise r · M.
double bytes_per_gradient(const Method& method, const Topology& topology, double vector_bytes,
                          AllReduceKind all_reduce = AllReduceKind::ring);

}  // namespace acid

#include <array>
#include <nlohmann/json.hpp>

#include "engine/methods/common_fields.hpp"
#include "engine/methods/method.hpp"

namespace acid {
namespace {

constexpr std::array kDPsgdFields = {
    Field{.name = "order",
          .type = FieldType::text,
          .fallback = "\"combine-while-adapt\"",
          .help = "combine-while-adapt (the paper; overlaps compute) or adapt-then-combine",
          .choices = "combine-while-adapt,adapt-then-combine",
          .needs_peers = true},
    kWeightsField,
};

Method make_d_psgd(const nlohmann::json& options, const Spectral*) {
  Method method;
  method.kind = "d-psgd";
  method.peers = Peers::neighbours;
  method.round = Round(text(options, "order") == "adapt-then-combine" ? "gradient step say hear"
                                                                      : "say gradient hear step");
  method.uniform_weights = text(options, "weights") == "uniform";
  return method;
}

}  // namespace

/// Decentralised parallel SGD, Lian et al. 2017 (1705.09056): xᵢ ← Σⱼ Wᵢⱼ xⱼ − γ uᵢ(gᵢ(xᵢ)), with
/// the gradient at the un-mixed model, so that communication overlaps compute. Per gradient a
/// worker sends its vector to each neighbour and waits for theirs of the same iteration.
AlgorithmEntry d_psgd_entry() {
  return {.name = "d-psgd",
          .label = "D-PSGD",
          .summary = "average with all neighbours every step, synchronous",
          .source = "1705.09056",
          .peers = Peers::neighbours,
          .fields = kDPsgdFields,
          .make = &make_d_psgd,
          .agreement = "rho"};
}

}  // namespace acid

#include <array>
#include <nlohmann/json.hpp>

#include "engine/methods/common_fields.hpp"
#include "engine/methods/gossip.hpp"
#include "engine/methods/method.hpp"

namespace acid {
namespace {

constexpr std::array kAdPsgdFields = {
    kCommunicationRateField,
    Field{.name = "alpha",
          .type = FieldType::number,
          .fallback = "0.5",
          .help = "step towards the partner; 0.5 is the average",
          .minimum = 0,
          .maximum = 1,
          .needs_peers = true},
};

Method make_ad_psgd(const nlohmann::json& options, const Spectral*) {
  const double alpha = number(options, "alpha");
  Method method;
  method.kind = "ad-psgd";
  method.rate = number(options, "communication_rate");
  const Mixing mixing{.alpha = alpha, .alpha_tilde = alpha, .eta = 0};
  method.rules = rules<GossipRule>(mixing);
  method.derived = shown_of(mixing);
  return method;
}

}  // namespace

/// Asynchronous decentralised parallel SGD, Lian et al. 2018 (1710.06952): the symmetric, atomic
/// pair average xᵢ, xⱼ ← (xᵢ + xⱼ)/2, while both workers go on computing gradients. An exchange
/// sends one vector each way; per gradient and worker that is r vectors in r messages.
AlgorithmEntry ad_psgd_entry() {
  return {.name = "ad-psgd",
          .label = "AD-PSGD",
          .summary = "pairwise averaging beside the gradients, asynchronous",
          .source = "1710.06952",
          .peers = Peers::partner,
          .fields = kAdPsgdFields,
          .make = &make_ad_psgd,
          .shown = kMixingShown};
}

}  // namespace acid

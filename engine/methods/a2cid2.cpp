#include <array>
#include <nlohmann/json.hpp>

#include "engine/methods/common_fields.hpp"
#include "engine/methods/gossip.hpp"
#include "engine/methods/method.hpp"

namespace acid {
namespace {

constexpr std::array kA2cid2Fields = {
    kCommunicationRateField,
    Field{.name = "spectral",
          .type = FieldType::text,
          .fallback = "\"nominal\"",
          .help = "chi1 and chi2 of the nominal edge rates, or of the rates the seed realises",
          .choices = "nominal,realised",
          .needs_peers = true},
    Field{.name = "eta",
          .type = FieldType::number,
          .fallback = "null",
          .help = "mixing rate of x and its momentum copy",
          .minimum = 0,
          .needs_peers = true},
    Field{.name = "alpha",
          .type = FieldType::number,
          .fallback = "0.5",
          .help = "step of x towards the partner",
          .minimum = 0,
          .maximum = 1,
          .needs_peers = true},
    Field{.name = "alpha_tilde",
          .type = FieldType::number,
          .fallback = "null",
          .help = "step of the momentum copy",
          .minimum = 0,
          .needs_peers = true},
};

Method make_a2cid2(const nlohmann::json& options, const Spectral* nominal) {
  Mixing mixing{.alpha = number(options, "alpha")};
  if (nominal != nullptr) {
    mixing.eta = nominal->eta;
    mixing.alpha_tilde = nominal->alpha_tilde;
  }
  if (!options.at("eta").is_null()) mixing.eta = number(options, "eta");
  if (!options.at("alpha_tilde").is_null()) mixing.alpha_tilde = number(options, "alpha_tilde");
  Method method;
  method.kind = "a2cid2";
  method.rate = number(options, "communication_rate");
  method.rules = rules<GossipRule>(mixing);
  method.derived = shown_of(mixing);
  return method;
}

const char* no_effect_in_a2cid2(std::string_view option, const nlohmann::json& options,
                                bool gossips) {
  if (option != "spectral") return nullptr;
  if (!gossips) return "no exchanges are drawn";
  const bool both = options.at("eta").is_number() && options.at("alpha_tilde").is_number();
  return both ? "eta and alpha_tilde are given" : nullptr;
}

}  // namespace

/// A²CiD², Nabli et al. 2023 (2306.08289): AD-PSGD with a continuous momentum copy x̃ that mixes
/// with x between exchanges, dx = η(x̃ − x)dt + …, and takes the larger exchange step α̃. It sends
/// x only: the cost is AD-PSGD's, r vectors per gradient and worker.
AlgorithmEntry a2cid2_entry() {
  return {.name = "a2cid2",
          .label = "A²CiD²",
          .summary = "pairwise averaging with continuous momentum, asynchronous",
          .source = "2306.08289",
          .peers = Peers::partner,
          .fields = kA2cid2Fields,
          .make = &make_a2cid2,
          .shown = kMixingShown,
          .no_effect = &no_effect_in_a2cid2};
}

}  // namespace acid

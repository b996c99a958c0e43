#include "engine/methods/named.hpp"

#include <array>
#include <nlohmann/json.hpp>

#include "engine/methods/common_fields.hpp"

namespace acid {
namespace {

using nlohmann::json;
using Listed = std::shared_ptr<const Listing>;

constexpr std::array kOrders = {
    Field{.name = "order",
          .type = FieldType::text,
          .fallback = "\"combine-while-adapt\"",
          .help = "combine-while-adapt (the paper; overlaps compute) or adapt-then-combine",
          .choices = "combine-while-adapt,adapt-then-combine",
          .needs_peers = true},
};

Listed in_order(const Listed& listing, const json& options, const Spectral*, ParameterValues&) {
  if (text(options, "order") != "adapt-then-combine") return listing;
  auto other = std::make_shared<Listing>(*listing);
  other->round = "gradient step say hear";
  return other;
}

constexpr std::array kSpectra = {
    Field{.name = "spectral",
          .type = FieldType::text,
          .fallback = "\"nominal\"",
          .help = "chi1 and chi2 of the nominal edge rates, or of the rates the seed realises",
          .choices = "nominal,realised",
          .needs_peers = true},
};

constexpr std::array kMixingShown = {
    Shown{"alpha", "α", "the step of a model at an exchange"},
    Shown{"eta", "η",
          "the rate at which a model and its momentum copy mix, 1/(2√(χ₁χ₂)) in theory"},
    Shown{"alpha_tilde", "α̃", "the step of the momentum copy, ½√(χ₁/χ₂) in theory"},
};

Listed without_momentum(const Listed& listing, const json&, const Spectral*,
                        ParameterValues& values) {
  values["eta"] = 0;
  values["alpha_tilde"] = values.at("alpha");
  return listing;
}

// With η = 0, x never sees its momentum copy: it is not kept.
Listed with_momentum(const Listed& listing, const json&, const Spectral* nominal,
                     ParameterValues& values) {
  values.emplace("eta", nominal == nullptr ? 0 : nominal->eta);
  values.emplace("alpha_tilde", nominal == nullptr ? 0.5 : nominal->alpha_tilde);
  if (values.at("eta") > 0) return listing;
  return {Listed(), find_algorithm("ad-psgd")->listing};
}

const char* no_effect_in_a2cid2(std::string_view option, const json& options, bool gossips) {
  if (option != "spectral") return nullptr;
  if (!gossips) return "no exchanges are drawn";
  const bool both = options.at("eta").is_number() && options.at("alpha_tilde").is_number();
  return both ? "eta and alpha_tilde are given" : nullptr;
}

constexpr std::array kNamed = {
    NamedMethod{.name = "ar-sgd"},
    NamedMethod{.name = "d-psgd", .choices = kOrders, .adapt = &in_order},
    NamedMethod{.name = "ad-psgd", .shown = kMixingShown, .adapt = &without_momentum},
    NamedMethod{.name = "a2cid2",
                .choices = kSpectra,
                .shown = kMixingShown,
                .no_effect = &no_effect_in_a2cid2,
                .adapt = &with_momentum},
};

}  // namespace

std::span<const NamedMethod> named_methods() { return kNamed; }

}  // namespace acid

#pragma once

#include <array>

#include "engine/base/fields.hpp"
#include "engine/methods/method.hpp"

namespace acid {

// Recipe keys that several methods have, and the recipe's own optimiser.

inline constexpr Field kCommunicationRateField{.name = "communication_rate",
                                               .type = FieldType::number,
                                               .fallback = "1.0",
                                               .help = "expected exchanges per worker and gradient",
                                               .minimum = 0,
                                               .maximum = kMostCommunicationRate,
                                               .needs_peers = true};

inline constexpr Field kWeightsField{
    .name = "weights",
    .type = FieldType::text,
    .fallback = "\"metropolis\"",
    .help = "mixing matrix W: metropolis, or uniform on a regular graph",
    .choices = "metropolis,uniform",
    .needs_peers = true};

inline constexpr std::array kAdamFields = {
    Field{.name = "beta1",
          .type = FieldType::number,
          .fallback = "0.9",
          .help = "decay of the gradient's mean",
          .minimum = 0,
          .maximum = 1,
          .maximum_excluded = true},
    Field{.name = "beta2",
          .type = FieldType::number,
          .fallback = "0.999",
          .help = "decay of the gradient's second moment",
          .minimum = 0,
          .maximum = 1,
          .maximum_excluded = true},
    Field{.name = "epsilon",
          .type = FieldType::number,
          .fallback = "1e-8",
          .help = "added to the root of the second moment",
          .minimum = 0,
          .minimum_excluded = true},
};

}  // namespace acid

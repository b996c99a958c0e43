#pragma once

#include "engine/base/fields.hpp"
#include "engine/methods/method.hpp"

namespace acid {

// Recipe keys that several methods share.

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

}  // namespace acid

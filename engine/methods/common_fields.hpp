#pragma once

#include "engine/base/fields.hpp"
#include "engine/methods/method.hpp"

namespace acid {

// Recipe keys that several methods share.

inline constexpr Field kCommunicationRateField{.name = "communication_rate",
                                               .type = FieldType::number,
                                               .fallback = "1.0",
                                               .help =
                                                   "expected exchanges per worker and gradient; "
                                                   "\"saturate\": as many as the simulated network "
                                                   "carries",
                                               .minimum = 0,
                                               .maximum = kMostCommunicationRate,
                                               .choices = "saturate",
                                               .needs_peers = true};

/// In the settings of a run with communication_rate = "saturate": true. The rate there is then the
/// expected one, a number.
inline constexpr const char* kSaturates = "saturate";

/// In the settings of a run only where groups average by an all-reduce (Method::reduces_groups).
inline constexpr Field kExchangeField{
    .name = "exchange",
    .type = FieldType::text,
    .fallback = "null",
    .help =
        "how the neighbours of an exchange average: by messages to each other, or by an "
        "all-reduce where they form groups in which all have the mean of the group; by default "
        "an all-reduce where groups have more than two workers",
    .choices = "all-reduce,messages",
    .needs_peers = true,
    .later = true};

inline constexpr Field kWeightsField{
    .name = "weights",
    .type = FieldType::text,
    .fallback = "\"metropolis\"",
    .help = "mixing matrix W: metropolis, or uniform on a regular graph",
    .choices = "metropolis,uniform",
    .needs_peers = true};

}  // namespace acid

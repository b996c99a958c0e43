#pragma once

#include <cstddef>
#include <optional>

#include "engine/drivers/virtual/virtual_time.hpp"

namespace acid {

/// Seconds per iteration in steady state where a formula gives them: workers whose gradients take
/// the same time again and again, equal links, and equal buckets. With the forward pass F, the
/// backward pass G = Bg of B buckets, the exchange c of one of them and the optimiser's U,
///   max(F + G + c, F + g + Bc) + U   where gradients are all-reduced, in time order;
///   max(F + G + U, Bc, c + U/B)      where each worker hears equally many neighbours, beside the
///                                    gradient.
/// Nothing for all other runs.
std::optional<double> closed_form_seconds(const RunSpec& spec, const VirtualOptions& options,
                                          std::size_t dimension);

}  // namespace acid

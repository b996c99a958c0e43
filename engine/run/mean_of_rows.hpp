#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "engine/run/ensemble.hpp"

namespace acid {

/// Makes rows[i] point to elements [first, first + size) of vector i.
using RowsAt =
    std::function<void(std::size_t first, std::size_t size, std::span<const float*> rows)>;

/// So many elements are looked at together: a block of all workers stays in cache for the second
/// pass, and is whole pieces of a fingerprint.
std::size_t block_size(std::size_t workers);

/// Mean (if it is kept), its length and the distance of n vectors of d elements, block by block.
/// Sums are of kernels::kSpreadPart elements each, and then added in order: the bits depend neither
/// on the size of a block nor on the processor.
MeanModel mean_of_rows(std::size_t n, std::size_t d, bool keeps_mean, const RowsAt& rows_at);

/// Length and distance alone, with the same bits, of vectors in the memory of a device that has the
/// kernel `spread`. `block`: a multiple of kernels::kSpreadPart.
MeanModel spread_of_rows(std::size_t n, std::size_t d, std::size_t block, const Backend& device,
                         const RowsAt& rows_at);

}  // namespace acid

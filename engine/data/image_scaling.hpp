#pragma once

#include <cstdint>
#include <span>

#include "engine/data/dataset.hpp"
#include "engine/data/image_file.hpp"

namespace acid {

/// Writes `image` into `out` as an example of `shape`: 1 or 3 channels × height × width bytes. A
/// grey image becomes three equal channels; a coloured one becomes grey as (19595 R + 38470 G +
/// 7471 B) / 65536, rounded. Then the image is scaled to the smallest size that covers height ×
/// width, its longer side rounded down, and the middle is cut out (half of the rest is cut at the
/// top and left, rounded to even). A pixel is the weighted mean of the pixels under a triangle
/// around its centre, which reaches as far as one pixel of the coarser image: bilinear with
/// antialias, as torchvision's Resize and CenterCrop, but rounded to bytes once. It uses only + − ×
/// ÷ of doubles, so the bits are the same everywhere. An image that already has the size is copied.
/// Any thread.
void fit_image(const DecodedImage& image, const DataShape& shape, std::span<std::uint8_t> out);

}  // namespace acid

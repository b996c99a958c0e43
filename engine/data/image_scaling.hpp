#pragma once

#include <cstdint>
#include <span>

#include "engine/data/dataset.hpp"
#include "engine/data/image_file.hpp"

namespace acid {

/// Writes `image` as an example of `shape` has it, 1 or 3 channels × height × width bytes, into
/// `out`. A grey image becomes three equal channels, a coloured one (19595 R + 38470 G + 7471 B) /
/// 65536, rounded. Then the image is scaled to the smallest size that covers height × width, its
/// longer side rounded down, and the middle is cut out (at the top and left half of the rest is
/// cut, rounded to even). A pixel is the mean of those that a triangle around its centre covers,
/// which reaches as far as one pixel of the coarser of both images: bilinear with antialias, as
/// torchvision's Resize and CenterCrop, but rounded to bytes once. Only + − × ÷ of doubles, so the
/// same bits everywhere. An image that has the size is copied. Any thread.
void fit_image(const DecodedImage& image, const DataShape& shape, std::span<std::uint8_t> out);

}  // namespace acid

#include "engine/data/image_scaling.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/base/error.hpp"

namespace acid {
namespace {

/// The pixels along an axis of which one output pixel is the mean.
struct Taps {
  std::int64_t first = 0;
  std::vector<double> weights;  // their sum is 1
};

// Taps of `count` pixels from `begin` on, along an axis of `from` pixels that is scaled to
// `scaled`.
std::vector<Taps> taps_along(std::int64_t from, std::int64_t scaled, std::int64_t begin,
                             int count) {
  const double step = static_cast<double>(from) / static_cast<double>(scaled);
  const double reach = std::max(step, 1.0);
  std::vector<Taps> all;
  for (int k = 0; k < count; ++k) {
    const double centre = (static_cast<double>(begin + k) + 0.5) * step;
    const auto first =
        std::max<std::int64_t>(0, static_cast<std::int64_t>(std::ceil(centre - reach - 0.5)));
    const auto last = std::min<std::int64_t>(
        from - 1, static_cast<std::int64_t>(std::floor(centre + reach - 0.5)));
    Taps taps{first, {}};
    double sum = 0;
    for (std::int64_t j = first; j <= last; ++j) {
      const double distance = std::abs(static_cast<double>(j) + 0.5 - centre);
      taps.weights.push_back(std::max(0.0, 1 - distance / reach));
      sum += taps.weights.back();
    }
    for (double& weight : taps.weights) weight /= sum;
    all.push_back(std::move(taps));
  }
  return all;
}

DecodedImage grey_of(const DecodedImage& image) {
  DecodedImage grey{image.height, image.width, 1, {}};
  grey.pixels.reserve(image.pixels.size() / 3);
  for (auto pixel = image.pixels.begin(); pixel != image.pixels.end(); pixel += 3)
    grey.pixels.push_back(static_cast<std::uint8_t>(
        (pixel[0] * 19595 + pixel[1] * 38470 + pixel[2] * 7471 + 0x8000) >> 16));
  return grey;
}

std::uint8_t byte_of(double value) {
  return static_cast<std::uint8_t>(std::clamp(std::floor(value + 0.5), 0.0, 255.0));
}

// Half of the excess, rounded to even as torchvision's CenterCrop does.
std::int64_t cut_before(std::int64_t excess) { return excess / 2 + (excess % 4 == 3 ? 1 : 0); }

// Writes all channels of the image, one after the other.
void scale(const DecodedImage& image, const DataShape& shape, std::span<std::uint8_t> out) {
  const std::int64_t height = image.height, width = image.width;
  const bool height_decides = shape.height * width >= shape.width * height;
  const std::int64_t scaled_height = height_decides ? shape.height : height * shape.width / width;
  const std::int64_t scaled_width = height_decides ? width * shape.height / height : shape.width;
  const std::vector<Taps> rows =
      taps_along(height, scaled_height, cut_before(scaled_height - shape.height), shape.height);
  const std::vector<Taps> columns =
      taps_along(width, scaled_width, cut_before(scaled_width - shape.width), shape.width);

  // Rows of the image, reduced to the needed columns; only the needed rows.
  const std::int64_t first = rows.front().first;
  const std::int64_t end = rows.back().first + std::ssize(rows.back().weights);
  const auto channels = static_cast<std::size_t>(image.channels);
  const auto across = static_cast<std::size_t>(shape.width);
  std::vector<double> shortened(static_cast<std::size_t>(end - first) * across);
  for (std::size_t c = 0; c < channels; ++c) {
    double* to = shortened.data();
    for (std::int64_t y = first; y < end; ++y)
      for (const Taps& column : columns) {
        const std::uint8_t* from =
            image.pixels.data() + static_cast<std::size_t>(y * width + column.first) * channels + c;
        double sum = 0;
        for (const double weight : column.weights) {
          sum += weight * *from;
          from += channels;
        }
        *to++ = sum;
      }
    std::uint8_t* pixel = out.data() + c * across * static_cast<std::size_t>(shape.height);
    for (const Taps& row : rows)
      for (std::size_t x = 0; x < across; ++x) {
        const double* from =
            shortened.data() + static_cast<std::size_t>(row.first - first) * across;
        double sum = 0;
        for (const double weight : row.weights) {
          sum += weight * from[x];
          from += across;
        }
        *pixel++ = byte_of(sum);
      }
  }
}

}  // namespace

void fit_image(const DecodedImage& image, const DataShape& shape, std::span<std::uint8_t> out) {
  ACID_ASSERT((image.channels == 1 || image.channels == 3) &&
                  (shape.channels == 1 || shape.channels == 3) &&
                  std::ssize(out) == shape.features(),
              "{} channels of {} into {} bytes", image.channels, shape.channels, out.size());
  if (image.channels == 3 && shape.channels == 1) return scale(grey_of(image), shape, out);
  scale(image, shape, out);
  const std::size_t plane = out.size() / static_cast<std::size_t>(shape.channels);
  if (image.channels < shape.channels)
    for (std::size_t c = 1; c < 3; ++c)
      std::copy_n(out.begin(), plane, out.begin() + static_cast<std::ptrdiff_t>(c * plane));
}

}  // namespace acid

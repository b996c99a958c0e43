#include "engine/data/augmentation.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "engine/data/dataset.hpp"

namespace acid {
namespace {

/// A part of an image: `y` and `x` of its first row and column.
struct Rectangle {
  int y, x, height, width;
};

std::span<float> channel_of(std::span<float> image, const DataShape& shape, int channel) {
  const auto size = static_cast<std::size_t>(shape.height) * static_cast<std::size_t>(shape.width);
  return image.subspan(static_cast<std::size_t>(channel) * size, size);
}

void shift(const DataShape& shape, int down, int right, float black, std::span<float> plane) {
  const std::vector<float> from(plane.begin(), plane.end());
  const auto inside = [](int k, int size) { return k >= 0 && k < size; };
  for (int y = 0, k = 0; y < shape.height; ++y)
    for (int x = 0; x < shape.width; ++x, ++k)
      plane[static_cast<std::size_t>(k)] =
          inside(y + down, shape.height) && inside(x + right, shape.width)
              ? from[static_cast<std::size_t>((y + down) * shape.width + x + right)]
              : black;
}

// Draws as RandomResizedCrop does: ten attempts at a share of the area and a ratio of the sides.
Rectangle draw_rectangle(const DataShape& shape, double smallest_share, Stream& stream) {
  const double area = static_cast<double>(shape.height) * shape.width;
  const double widest = std::log(4.0 / 3);
  for (int attempt = 0; attempt < 10; ++attempt) {
    const double share = area * stream.uniform(smallest_share, 1);
    const double ratio = std::exp(stream.uniform(-widest, widest));
    const int width = static_cast<int>(std::lround(std::sqrt(share * ratio)));
    const int height = static_cast<int>(std::lround(std::sqrt(share / ratio)));
    if (width < 1 || height < 1 || width > shape.width || height > shape.height) continue;
    const auto below = [&](int bound) {
      return static_cast<int>(stream.below(static_cast<std::uint64_t>(bound)));
    };
    const int y = below(shape.height - height + 1), x = below(shape.width - width + 1);
    return {y, x, height, width};
  }
  return {0, 0, shape.height, shape.width};
}

// The two pixels along an axis of the part between which output pixel `k` of `size` lies.
struct Between {
  int first, second;
  float weight;  // of the second
};
Between between(int k, int size, int begin, int extent) {
  const float at = std::clamp(
      (static_cast<float>(k) + 0.5f) * static_cast<float>(extent) / static_cast<float>(size) - 0.5f,
      0.0f, static_cast<float>(extent - 1));
  const int first = static_cast<int>(at);
  return {begin + first, begin + std::min(first + 1, extent - 1), at - static_cast<float>(first)};
}

void enlarge(const DataShape& shape, const Rectangle& part, std::span<float> plane) {
  const std::vector<float> from(plane.begin(), plane.end());
  const auto pixel = [&](int y, int x) {
    return from[static_cast<std::size_t>(y * shape.width + x)];
  };
  for (int y = 0, k = 0; y < shape.height; ++y) {
    const Between row = between(y, shape.height, part.y, part.height);
    for (int x = 0; x < shape.width; ++x, ++k) {
      const Between column = between(x, shape.width, part.x, part.width);
      const auto along = [&](int of_row) {
        return pixel(of_row, column.first) * (1 - column.weight) +
               pixel(of_row, column.second) * column.weight;
      };
      plane[static_cast<std::size_t>(k)] =
          along(row.first) * (1 - row.weight) + along(row.second) * row.weight;
    }
  }
}

}  // namespace

Augmentation augmentation_of(const nlohmann::json& options) {
  return {static_cast<int>(integer(options, "crop_padding")), number(options, "resized_crop"),
          options.at("flip").get<bool>()};
}

void augment(const Augmentation& asked, const DataShape& shape, std::span<const float> black,
             Stream stream, std::span<float> image) {
  const auto each = [&](auto change) {
    for (int c = 0; c < shape.channels; ++c)
      change(channel_of(image, shape, c), black[static_cast<std::size_t>(c)]);
  };
  if (asked.crop_padding > 0) {
    const auto places = static_cast<std::uint64_t>(2 * asked.crop_padding + 1);
    const int down = static_cast<int>(stream.below(places)) - asked.crop_padding;
    const int right = static_cast<int>(stream.below(places)) - asked.crop_padding;
    each([&](std::span<float> plane, float dark) { shift(shape, down, right, dark, plane); });
  }
  if (asked.resized_crop < 1) {
    const Rectangle part = draw_rectangle(shape, asked.resized_crop, stream);
    each([&](std::span<float> plane, float) { enlarge(shape, part, plane); });
  }
  if (asked.flip && stream.below(2) == 1)
    each([&](std::span<float> plane, float) {
      for (auto row = plane.begin(); row != plane.end(); row += shape.width)
        std::reverse(row, row + shape.width);
    });
}

}  // namespace acid

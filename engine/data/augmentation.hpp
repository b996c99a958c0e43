#pragma once

#include <array>
#include <nlohmann/json_fwd.hpp>
#include <span>

#include "engine/base/fields.hpp"
#include "engine/base/rng.hpp"

namespace acid {

struct DataShape;

/// Random changes of training images, equal to torchvision's transforms of these names.
struct Augmentation {
  int crop_padding = 0;     // pixels on each side
  double resized_crop = 1;  // smallest share of the area
  bool flip = false;
  bool any() const { return crop_padding > 0 || resized_crop < 1 || flip; }
};

constexpr std::array<Field, 3> kAugmentationFields{{
    {.name = "crop_padding",
     .type = FieldType::integer,
     .fallback = "0",
     .help = "pixels of black around an image, of which a part of its size is cut out at random",
     .minimum = 0,
     .maximum = 4096},
    {.name = "resized_crop",
     .type = FieldType::number,
     .fallback = "1.0",
     .help = "below 1, a random rectangle is enlarged to the image: the smallest share of its area "
             "(0.08 is usual); its sides are 3:4 to 4:3",
     .minimum = 0,
     .maximum = 1,
     .minimum_excluded = true},
    {.name = "flip",
     .type = FieldType::boolean,
     .fallback = "false",
     .help = "every other image, at random, is its mirror image, left for right"},
}};
Augmentation augmentation_of(const nlohmann::json& options);

/// Changes `image` (channel, row, column), which is normalised; `black`: the normalised value of a
/// pixel of 0, by channel. A pure function of its arguments; `stream` is the example's own. Any
/// thread.
void augment(const Augmentation& asked, const DataShape& shape, std::span<const float> black,
             Stream stream, std::span<float> image);

}  // namespace acid

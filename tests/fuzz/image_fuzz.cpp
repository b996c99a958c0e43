// JPEG and PNG files: the input is one, under the name that its first byte chooses, and is scaled.
#include "engine/data/image_scaling.hpp"
#include "tests/fuzz/input.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace acid::fuzz;
  constexpr std::int64_t kMostPixels = 1 << 16;
  Input input(data, size);
  const std::uint8_t choice = input.number<std::uint8_t>();
  const char* const name = choice % 2 == 0 ? "a.png" : "a.jpg";
  const acid::DataShape shape{choice / 2 % 2 == 0 ? 3 : 1, 1 + choice / 4 % 8, 1 + choice / 32, 2};
  acid::DecodedImage image;
  if (!accepted([&] { image = acid::decode_image(name, input.rest(), kMostPixels); })) return 0;
  ACID_ASSERT(
      std::ssize(image.pixels) == std::int64_t{1} * image.height * image.width * image.channels,
      "{} bytes of {} × {} × {}", image.pixels.size(), image.height, image.width, image.channels);
  std::vector<std::uint8_t> out(static_cast<std::size_t>(shape.features()));
  acid::fit_image(image, shape, out);
  return 0;
}

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace acid {

/// Of one image, so that a header that promises more than there is costs 300 MB at most.
constexpr std::int64_t kMostImagePixels = 100'000'000;

/// An image as bytes, row by row, the channels of a pixel together: grey (1) or red, green, blue.
struct DecodedImage {
  int height = 0, width = 0, channels = 1;
  std::vector<std::uint8_t> pixels;
};

/// Whether a name ends like those of files that decode_image() reads: .jpg, .jpeg, .png, in any
/// case.
bool names_image(std::string_view name);
/// The same of images of other kinds, which people convert.
bool names_foreign_image(std::string_view name);

/// The image in the whole `content` of the file `path`, which names it in errors and whose ending
/// must tell its kind. Palettes become colours, 16 bits 8, and what says how much shows through
/// is left out; orientation and colour profiles are not looked at. Throws Error with the file and
/// what to do: cut off, damaged, of another kind, CMYK, or larger than `most_pixels`. Any thread.
DecodedImage decode_image(const std::string& path, std::span<const std::uint8_t> content,
                          std::int64_t most_pixels = kMostImagePixels);

/// One for each kind; `decode_image` calls them.
DecodedImage decode_jpeg(const std::string& path, std::span<const std::uint8_t> content,
                         std::int64_t most_pixels);
DecodedImage decode_png(const std::string& path, std::span<const std::uint8_t> content,
                        std::int64_t most_pixels);

/// Throws the Error of an image: "PATH: WHAT; REMEDY".
[[noreturn]] void fail_image(const std::string& path, std::string_view what,
                             std::string_view remedy = "replace the file, or remove it");
/// Throws where a header says that an image is too large.
void expect_image_size(const std::string& path, std::int64_t height, std::int64_t width,
                       std::int64_t most_pixels);

}  // namespace acid

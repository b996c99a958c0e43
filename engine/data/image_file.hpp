#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace acid {

/// Pixels of one image: a header that claims too many costs 300 MB at most.
constexpr std::int64_t kMostImagePixels = 100'000'000;

/// An image as bytes, row by row, the channels of a pixel together: grey (1) or red, green, blue.
struct DecodedImage {
  int height = 0, width = 0, channels = 1;
  std::vector<std::uint8_t> pixels;
};

/// Whether a name has an ending that decode_image() reads: .jpg, .jpeg, .png, in any case.
bool names_image(std::string_view name);
/// As above for image formats that must be converted first.
bool names_foreign_image(std::string_view name);

/// Decodes the image in the whole `content` of the file `path`, which names it in errors and whose
/// ending must match its kind. Palettes become colours, 16 bits become 8, and transparency is
/// dropped; orientation and colour profiles are ignored. Throws Error with the file and what to do
/// when the image is cut off, damaged, of another kind, CMYK, or larger than `most_pixels`. Any
/// thread.
DecodedImage decode_image(const std::string& path, std::span<const std::uint8_t> content,
                          std::int64_t most_pixels = kMostImagePixels);

/// The decoders of the two kinds, which `decode_image` calls.
DecodedImage decode_jpeg(const std::string& path, std::span<const std::uint8_t> content,
                         std::int64_t most_pixels);
DecodedImage decode_png(const std::string& path, std::span<const std::uint8_t> content,
                        std::int64_t most_pixels);

/// Throws the Error of an image: "PATH: WHAT; REMEDY".
[[noreturn]] void fail_image(const std::string& path, std::string_view what,
                             std::string_view remedy = "replace the file, or remove it");
/// Throws when a header's image size is too large.
void expect_image_size(const std::string& path, std::int64_t height, std::int64_t width,
                       std::int64_t most_pixels);

}  // namespace acid

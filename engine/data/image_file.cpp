#include "engine/data/image_file.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include "engine/base/error.hpp"

namespace acid {
namespace {

constexpr std::array<std::uint8_t, 3> kJpegBegin{0xFF, 0xD8, 0xFF};
constexpr std::array<std::uint8_t, 8> kPngBegin{0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};

// The part after the last dot, in lower case.
std::string ending(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  std::string out(dot == std::string_view::npos ? std::string_view() : name.substr(dot + 1));
  std::ranges::transform(out, out.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

bool begins(std::span<const std::uint8_t> content, std::span<const std::uint8_t> with) {
  return content.size() >= with.size() && std::ranges::equal(content.first(with.size()), with);
}

}  // namespace

bool names_image(std::string_view name) { return is_one_of(ending(name), {"jpg", "jpeg", "png"}); }

bool names_foreign_image(std::string_view name) {
  return is_one_of(ending(name), {"ppm", "pgm", "pnm", "bmp", "tga", "tif", "tiff", "webp", "gif",
                                  "jp2", "jxl", "jfif", "jpe", "avif", "heic", "heif"});
}

void fail_image(const std::string& path, std::string_view what, std::string_view remedy) {
  throw Error(fmt::format("{}: {}; {}", path, what, remedy));
}

void expect_image_size(const std::string& path, std::int64_t height, std::int64_t width,
                       std::int64_t most_pixels) {
  if (height < 1 || width < 1)
    fail_image(path, fmt::format("an image of {} × {} pixels", height, width));
  if (height > most_pixels / width)
    fail_image(path,
               fmt::format("an image of {} × {} pixels, more than {}", height, width, most_pixels),
               "scale it down, or remove it");
}

DecodedImage decode_image(const std::string& path, std::span<const std::uint8_t> content,
                          std::int64_t most_pixels) {
  if (content.empty()) fail_image(path, "the file is empty");
  const bool jpeg = begins(content, kJpegBegin), png = begins(content, kPngBegin);
  if (!jpeg && !png) fail_image(path, "the content is neither a JPEG nor a PNG image");
  const bool named_png = ending(path) == "png";
  if (png != named_png)
    fail_image(path,
               fmt::format("the content is a {} image, unlike the name", png ? "PNG" : "JPEG"),
               fmt::format("rename the file to end in .{}", png ? "png" : "jpg"));
  return png ? decode_png(path, content, most_pixels) : decode_jpeg(path, content, most_pixels);
}

}  // namespace acid

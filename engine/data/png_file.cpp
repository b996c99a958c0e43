#include <png.h>

#include <algorithm>
#include <csetjmp>

#include "engine/base/error.hpp"
#include "engine/data/image_file.hpp"

namespace acid {
namespace {

/// libpng's state. Errors return to attempt() by longjmp(), so code in between must not hold
/// objects with destructors.
class PngReader {
 public:
  explicit PngReader(std::span<const std::uint8_t> content) : left_(content) {}
  ~PngReader() { png_destroy_read_struct(&png_, &info_, nullptr); }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;

  /// Call it first. Returns false on failure, as attempt() does.
  bool create() {
    if (setjmp(back_) != 0) return false;
    png_ =
        png_create_read_struct(PNG_LIBPNG_VER_STRING, this, take_error, [](png_structp, auto) {});
    if (png_ != nullptr) info_ = png_create_info_struct(png_);
    if (info_ == nullptr) return false;
    png_set_read_fn(png_, this, read);
    return true;
  }
  /// Whether libpng got through `step`; otherwise message() says why not.
  template <class Step>
  bool attempt(const Step& step) {
    if (setjmp(back_) != 0) return false;
    step(png_, info_);
    return true;
  }
  png_structp png() const { return png_; }
  png_infop info() const { return info_; }
  const char* message() const { return message_; }

 private:
  static void take_error(png_structp png, png_const_charp message) {
    auto* self = static_cast<PngReader*>(png_get_error_ptr(png));
    std::snprintf(self->message_, sizeof self->message_, "%s", message);
    std::longjmp(self->back_, 1);
  }
  static void read(png_structp png, png_bytep to, std::size_t bytes) {
    auto* self = static_cast<PngReader*>(png_get_io_ptr(png));
    if (bytes > self->left_.size()) png_error(png, "the file ends too early");
    std::copy_n(self->left_.data(), bytes, to);
    self->left_ = self->left_.subspan(bytes);
  }

  std::span<const std::uint8_t> left_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  std::jmp_buf back_{};
  char message_[200] = "out of memory";
};

// Asks for eight bits of grey or of red, green and blue, for any file.
void ask_for_bytes(png_structp png, png_infop info) {
  png_set_expand(png);
  png_set_scale_16(png);
  png_set_strip_alpha(png);
  png_set_interlace_handling(png);
  png_read_update_info(png, info);
}

}  // namespace

DecodedImage decode_png(const std::string& path, std::span<const std::uint8_t> content,
                        std::int64_t most_pixels) {
  PngReader reader(content);
  const auto fail = [&] {
    fail_image(path, fmt::format("the PNG image is damaged or cut off ({})", reader.message()));
  };
  if (!reader.create()) fail();
  if (!reader.attempt([](png_structp png, png_infop info) { png_read_info(png, info); })) fail();
  const std::int64_t height = png_get_image_height(reader.png(), reader.info());
  const std::int64_t width = png_get_image_width(reader.png(), reader.info());
  expect_image_size(path, height, width, most_pixels);
  if (!reader.attempt(ask_for_bytes)) fail();

  DecodedImage image{static_cast<int>(height),
                     static_cast<int>(width),
                     png_get_channels(reader.png(), reader.info()),
                     {}};
  const std::size_t row = png_get_rowbytes(reader.png(), reader.info());
  ACID_ASSERT((image.channels == 1 || image.channels == 3) &&
                  row == static_cast<std::size_t>(width * image.channels),
              "{} channels in {} bytes for {} pixels", image.channels, row, width);
  image.pixels.resize(row * static_cast<std::size_t>(height));
  std::vector<png_bytep> rows;
  for (std::int64_t y = 0; y < height; ++y)
    rows.push_back(image.pixels.data() + row * static_cast<std::size_t>(y));
  const auto read_pixels = [&](png_structp png, png_infop info) {
    png_read_image(png, rows.data());
    png_read_end(png, info);
  };
  if (!reader.attempt(read_pixels)) fail();
  return image;
}

}  // namespace acid

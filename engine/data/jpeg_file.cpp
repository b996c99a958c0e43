// Included first: libjpeg needs the definition of FILE.
#include <csetjmp>
#include <cstdio>
// Apart, so that the order of includes stays.
#include <jpeglib.h>
// Included after jpeglib.h.
#include <jerror.h>

#include "engine/base/error.hpp"
#include "engine/data/image_file.hpp"

namespace acid {
namespace {

/// libjpeg's state. Errors return to attempt() by longjmp(), so code in between must not hold
/// objects with destructors.
class JpegReader {
 public:
  JpegReader() {
    info_.err = jpeg_std_error(&errors_);
    info_.client_data = this;
    errors_.error_exit = [](j_common_ptr info) {
      auto* self = static_cast<JpegReader*>(info->client_data);
      info->err->format_message(info, self->message_);
      std::longjmp(self->back_, 1);
    };
    errors_.emit_message = [](j_common_ptr info, int level) {
      if (level < 0) static_cast<JpegReader*>(info->client_data)->take_warning(info);
    };
    errors_.output_message = [](j_common_ptr) {};
  }
  ~JpegReader() { jpeg_destroy_decompress(&info_); }
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;

  /// Whether libjpeg got through `step`; otherwise message() says why not.
  template <class Step>
  bool attempt(const Step& step) {
    if (setjmp(back_) != 0) return false;
    step(&info_);
    return !damaged_;
  }
  const jpeg_decompress_struct& info() const { return info_; }
  const char* message() const { return message_; }

 private:
  // Harmless warnings, which many cameras cause, are ignored; after any other warning libjpeg has
  // invented pixels.
  void take_warning(j_common_ptr info) {
    const int code = info->err->msg_code;
    if (damaged_ || code == JWRN_EXTRANEOUS_DATA || code == JWRN_ADOBE_XFORM ||
        code == JWRN_JFIF_MAJOR)
      return;
    damaged_ = true;
    info->err->format_message(info, message_);
  }

  jpeg_decompress_struct info_{};
  jpeg_error_mgr errors_{};
  std::jmp_buf back_{};
  bool damaged_ = false;
  char message_[JMSG_LENGTH_MAX] = {};
};

}  // namespace

DecodedImage decode_jpeg(const std::string& path, std::span<const std::uint8_t> content,
                         std::int64_t most_pixels) {
  JpegReader reader;
  const auto fail = [&] {
    fail_image(path, fmt::format("the JPEG image is damaged or cut off ({})", reader.message()));
  };
  const auto read_header = [&](j_decompress_ptr info) {
    jpeg_create_decompress(info);
    jpeg_mem_src(info, content.data(), static_cast<unsigned long>(content.size()));
    jpeg_read_header(info, TRUE);
  };
  if (!reader.attempt(read_header)) fail();
  const jpeg_decompress_struct& info = reader.info();
  expect_image_size(path, info.image_height, info.image_width, most_pixels);
  const J_COLOR_SPACE space = info.jpeg_color_space;
  if (space == JCS_CMYK || space == JCS_YCCK)
    fail_image(path, "the JPEG image has the colours of print, CMYK",
               "save it as RGB, or remove it");
  if (space != JCS_GRAYSCALE && space != JCS_YCbCr && space != JCS_RGB)
    fail_image(
        path, fmt::format("the JPEG image has {} channels of unknown meaning", info.num_components),
        "save it as RGB or grey, or remove it");

  DecodedImage image{static_cast<int>(info.image_height),
                     static_cast<int>(info.image_width),
                     space == JCS_GRAYSCALE ? 1 : 3,
                     {}};
  const std::size_t row =
      static_cast<std::size_t>(image.width) * static_cast<std::size_t>(image.channels);
  image.pixels.resize(row * static_cast<std::size_t>(image.height));
  std::uint8_t* const pixels = image.pixels.data();
  const auto read_pixels = [&](j_decompress_ptr to) {
    to->out_color_space = space == JCS_GRAYSCALE ? JCS_GRAYSCALE : JCS_RGB;
    to->dct_method = JDCT_ISLOW;  // the same bits with and without vector instructions
    jpeg_start_decompress(to);
    while (to->output_scanline < to->output_height) {
      JSAMPROW line = pixels + row * to->output_scanline;
      jpeg_read_scanlines(to, &line, 1);
    }
    jpeg_finish_decompress(to);
  };
  if (!reader.attempt(read_pixels)) fail();
  return image;
}

}  // namespace acid

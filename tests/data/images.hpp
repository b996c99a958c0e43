#pragma once

#include <cstdio>
// Included after <cstdio>, which they need.
#include <jpeglib.h>
#include <png.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

namespace acid::testing {

/// The numbers of an image, row by row, the channels of a pixel together.
using Pixels = std::vector<std::uint8_t>;

inline Pixels pattern(int height, int width, int channels, unsigned seed = 1) {
  Pixels pixels;
  for (int k = 0; k < height * width * channels; ++k) {
    seed = seed * 1664525 + 1013904223;
    pixels.push_back(static_cast<std::uint8_t>(seed >> 24));
  }
  return pixels;
}

inline Pixels plain(int height, int width, const Pixels& colour) {
  Pixels pixels;
  for (int k = 0; k < height * width; ++k)
    pixels.insert(pixels.end(), colour.begin(), colour.end());
  return pixels;
}

struct PngOptions {
  int type = PNG_COLOR_TYPE_RGB;
  int bits = 8;
  std::vector<png_color> palette = {};
  bool interlaced = false;
};
/// Makes a PNG file; `rows` as PNG stores them.
inline std::string png(int height, int width, Pixels rows, const PngOptions& options = {}) {
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  std::string file;
  const auto write = [](png_structp to, png_bytep bytes, std::size_t size) {
    static_cast<std::string*>(png_get_io_ptr(to))->append(reinterpret_cast<char*>(bytes), size);
  };
  png_set_write_fn(png, &file, write, nullptr);
  png_set_IHDR(png, info, static_cast<png_uint_32>(width), static_cast<png_uint_32>(height),
               options.bits, options.type,
               options.interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  if (!options.palette.empty())
    png_set_PLTE(png, info, options.palette.data(), static_cast<int>(options.palette.size()));
  png_write_info(png, info);
  std::vector<png_bytep> lines;
  for (int y = 0; y < height; ++y)
    lines.push_back(rows.data() +
                    static_cast<std::size_t>(y) * rows.size() / static_cast<std::size_t>(height));
  png_write_image(png, lines.data());
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  return file;
}

/// Makes a JPEG file of the best quality, without subsampling.
inline std::string jpeg(int height, int width, Pixels pixels, J_COLOR_SPACE space = JCS_RGB,
                        bool progressive = false) {
  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &bytes, &size);
  info.image_height = static_cast<JDIMENSION>(height);
  info.image_width = static_cast<JDIMENSION>(width);
  info.input_components = static_cast<int>(pixels.size()) / height / width;
  info.in_color_space = space;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, 100, TRUE);
  info.comp_info[0].h_samp_factor = info.comp_info[0].v_samp_factor = 1;
  if (progressive) jpeg_simple_progression(&info);
  jpeg_start_compress(&info, TRUE);
  while (info.next_scanline < info.image_height) {
    JSAMPROW line = pixels.data() + static_cast<std::size_t>(info.next_scanline) * pixels.size() /
                                        info.image_height;
    jpeg_write_scanlines(&info, &line, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  std::string file(reinterpret_cast<char*>(bytes), size);
  std::free(bytes);
  return file;
}

}  // namespace acid::testing

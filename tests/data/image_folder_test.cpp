// Image files: how they are read and scaled, and which are refused.
#include <unistd.h>

#include <cmath>

#include "engine/base/digest.hpp"
#include "engine/data/image_file.hpp"
#include "engine/data/image_list.hpp"
#include "engine/data/image_scaling.hpp"
#include "tests/data/images.hpp"
#include "tests/data/scratch.hpp"

using namespace acid;
using namespace acid::testing;

namespace {

DecodedImage decoded(const std::string& name, const std::string& file) {
  return decode_image(name,
                      std::span(reinterpret_cast<const std::uint8_t*>(file.data()), file.size()));
}

/// Two classes, one image each in training and tests.
struct ImageFolder : ScratchFolder {
  ImageFolder() {
    for (const char* part : {"train", "test"})
      for (const char* name : {"cat", "dog"})
        std::filesystem::create_directories(path(std::string(part) + "/" + name));
    write("train/cat/a.png", png(4, 4, pattern(4, 4, 3, 1)));
    write("train/dog/b.png", png(4, 4, pattern(4, 4, 3, 2)));
    write("test/cat/c.png", png(4, 4, pattern(4, 4, 3, 3)));
    write("test/dog/d.jpg", jpeg(4, 4, plain(4, 4, {10, 200, 90})));
  }
  nlohmann::json options() const { return {{"root", path()}, {"height", 4}, {"width", 4}}; }
  Dataset load() const { return testing::load("image-folder", options()); }
  DataInfo inspect() const {
    const DatasetEntry& entry = dataset("image-folder");
    return entry.inspect(options_of(entry, options()));
  }
};

std::vector<std::uint8_t> fitted(const DecodedImage& image, const DataShape& shape) {
  std::vector<std::uint8_t> out(static_cast<std::size_t>(shape.features()));
  fit_image(image, shape, out);
  return out;
}

/// Computes one pixel of a scaled and cut image by the sum over all pixels of the whole.
double direct(const DecodedImage& image, int scaled_height, int scaled_width, int y, int x, int c) {
  const double rows = static_cast<double>(image.height) / scaled_height;
  const double columns = static_cast<double>(image.width) / scaled_width;
  const auto triangle = [](int pixel, int at, double step) {
    return std::max(0.0, 1 - std::abs(pixel + 0.5 - (at + 0.5) * step) / std::max(step, 1.0));
  };
  double sum = 0, total = 0;
  for (int j = 0; j < image.height; ++j)
    for (int i = 0; i < image.width; ++i) {
      const double weight = triangle(j, y, rows) * triangle(i, x, columns);
      total += weight;
      sum += weight *
             image.pixels[static_cast<std::size_t>((j * image.width + i) * image.channels + c)];
    }
  return sum / total;
}

}  // namespace

TEST_CASE("PNG images of every kind become bytes of grey or of three colours") {
  const Pixels colours = pattern(5, 7, 3), greys = pattern(5, 7, 1);
  for (const bool interlaced : {false, true}) {
    const DecodedImage image = decoded("a.png", png(5, 7, colours, {.interlaced = interlaced}));
    CHECK((image.height == 5 && image.width == 7 && image.channels == 3));
    CHECK(image.pixels == colours);
  }
  const DecodedImage grey = decoded("a.PNG", png(5, 7, greys, {.type = PNG_COLOR_TYPE_GRAY}));
  CHECK(grey.channels == 1);
  CHECK(grey.pixels == greys);

  // Transparency is left out.
  Pixels with_alpha;
  for (std::size_t k = 0; k < colours.size(); k += 3)
    with_alpha.insert(with_alpha.end(),
                      {colours[k], colours[k + 1], colours[k + 2], static_cast<std::uint8_t>(k)});
  CHECK(decoded("a.png", png(5, 7, with_alpha, {.type = PNG_COLOR_TYPE_RGB_ALPHA})).pixels ==
        colours);
  CHECK(decoded("a.png", png(1, 2, {7, 0, 9, 255}, {.type = PNG_COLOR_TYPE_GRAY_ALPHA})).pixels ==
        Pixels{7, 9});

  // 16 bits: 257 is 1, and the rest is rounded.
  CHECK(decoded("a.png", png(1, 4, {0, 0, 1, 1, 1, 200, 255, 255},
                             {.type = PNG_COLOR_TYPE_GRAY, .bits = 16}))
            .pixels == Pixels{0, 1, 2, 255});
  // Two bits of grey, and a palette.
  CHECK(decoded("a.png", png(1, 4, {0x1B}, {.type = PNG_COLOR_TYPE_GRAY, .bits = 2})).pixels ==
        Pixels{0, 85, 170, 255});
  const DecodedImage painted = decoded(
      "a.png",
      png(1, 2, {1, 0}, {.type = PNG_COLOR_TYPE_PALETTE, .palette = {{1, 2, 3}, {250, 251, 252}}}));
  CHECK(painted.pixels == Pixels{250, 251, 252, 1, 2, 3});
}

TEST_CASE("JPEG images are read, grey and coloured, also progressive ones") {
  for (const bool progressive : {false, true}) {
    const DecodedImage image =
        decoded("a.jpeg", jpeg(9, 17, plain(9, 17, {10, 200, 90}), JCS_RGB, progressive));
    CHECK((image.height == 9 && image.width == 17 && image.channels == 3));
    for (std::size_t k = 0; k < image.pixels.size(); ++k)
      CHECK(std::abs(image.pixels[k] - Pixels{10, 200, 90}[k % 3]) <= 2);
    const DecodedImage grey =
        decoded("a.JPG", jpeg(9, 17, plain(9, 17, {77}), JCS_GRAYSCALE, progressive));
    CHECK(grey.channels == 1);
    CHECK(std::abs(grey.pixels[20] - 77) <= 1);
  }
}

TEST_CASE("an image that has the size is copied, and its channels are as asked for") {
  const DecodedImage colours{2, 3, 3, pattern(2, 3, 3)};
  const std::vector<std::uint8_t> out = fitted(colours, {3, 2, 3, 2});
  const std::vector<std::uint8_t> grey = fitted(colours, {1, 2, 3, 2});
  for (std::size_t p = 0; p < 6; ++p) {
    const std::uint8_t* pixel = &colours.pixels[3 * p];
    for (std::size_t c = 0; c < 3; ++c) CHECK(out[c * 6 + p] == pixel[c]);
    CHECK(std::abs(grey[p] - (0.299 * pixel[0] + 0.587 * pixel[1] + 0.114 * pixel[2])) <= 0.51);
  }
  const DecodedImage one{2, 3, 1, pattern(2, 3, 1)};
  const std::vector<std::uint8_t> three = fitted(one, {3, 2, 3, 2});
  for (std::size_t k = 0; k < three.size(); ++k) CHECK(three[k] == one.pixels[k % 6]);
}

TEST_CASE("images are scaled and cut as the sum over their pixels says") {
  struct Case {
    int height, width, to_height, to_width, scaled_height, scaled_width;
  };
  for (const Case& each :
       {Case{10, 25, 4, 4, 4, 10}, Case{25, 10, 4, 4, 10, 4}, Case{31, 40, 8, 8, 8, 10},
        Case{5, 6, 13, 9, 13, 15}, Case{7, 100, 3, 5, 3, 42}, Case{9, 9, 9, 3, 9, 9},
        Case{1, 1, 4, 4, 4, 4}, Case{8, 11, 8, 8, 8, 11}, Case{300, 1, 1, 2, 600, 2}}) {
    CAPTURE(each.height, each.width, each.to_height, each.to_width);
    const DecodedImage image{each.height, each.width, 3, pattern(each.height, each.width, 3)};
    const DataShape shape{3, each.to_height, each.to_width, 2};
    const std::vector<std::uint8_t> out = fitted(image, shape);
    const auto top = static_cast<int>(std::nearbyint((each.scaled_height - shape.height) / 2.0));
    const auto left = static_cast<int>(std::nearbyint((each.scaled_width - shape.width) / 2.0));
    std::size_t k = 0;
    for (int c = 0; c < 3; ++c)
      for (int y = 0; y < shape.height; ++y)
        for (int x = 0; x < shape.width; ++x, ++k)
          CHECK(std::abs(out[k] - direct(image, each.scaled_height, each.scaled_width, top + y,
                                         left + x, c)) <= 0.5 + 1e-9);
  }
  const DecodedImage even{90, 70, 1, Pixels(6300, 131)};
  CHECK(fitted(even, {1, 8, 8, 2}) == std::vector<std::uint8_t>(64, 131));
}

TEST_CASE(
    "a folder of images is planned by its names and some images, and loaded in the order of "
    "names") {
  const ImageFolder folder;
  const DataInfo info = folder.inspect();
  CHECK((info.shape.channels == 3 && info.shape.height == 4 && info.shape.width == 4));
  CHECK((info.shape.classes == 2 && info.train_size == 2 && info.test_size == 2));
  CHECK(info.files == std::vector<std::string>{folder.path()});
  folder.write("train/cat/Z.png", png(9, 5, pattern(9, 5, 3)));
  folder.write("train/cat/note.txt", "not an image");
  folder.write("train/cat/.hidden.png", "");
  const Dataset data = folder.load();
  REQUIRE(data.train->size() == 3);
  CHECK((data.train->label(0) == 0 && data.train->label(1) == 0 && data.train->label(2) == 1));
  const Pixels second = pattern(4, 4, 3, 1);  // "Z" is before "a"
  const std::vector<float> values = features(*data.train, 1, 48);
  for (std::size_t p = 0; p < 16; ++p)
    for (std::size_t c = 0; c < 3; ++c)
      CHECK(values[c * 16 + p] == static_cast<float>(second[3 * p + c]) * (1 / 255.0F));
  CHECK(folder.inspect().train_size == 3);
  folder.write("train/cat/empty.png", "");
  CHECK_THAT(message_of([&] { folder.inspect(); }),
             ContainsSubstring("empty.png: the file is empty"));
}

TEST_CASE("threads change no pixel, and the mean and deviation are taken off by channel") {
  const ImageFolder folder;
  for (int k = 0; k < 40; ++k)
    folder.write(fmt::format("train/dog/{}.jpg", k),
                 jpeg(8 + k, 20, pattern(8 + k, 20, 3, static_cast<unsigned>(k))));
  nlohmann::json options = folder.options();
  options["mean"] = {0.5, 0.25, 0};
  options["deviation"] = {0.5, 1, 2};
  options["decode_threads"] = 1;
  const Dataset one = load("image-folder", options);
  options["decode_threads"] = 7;
  const Dataset seven = load("image-folder", options);
  REQUIRE(one.files.size() == 2);
  for (std::size_t f = 0; f < 2; ++f) CHECK(one.files[f].sha256 == seven.files[f].sha256);
  for (std::int64_t e = 0; e < one.train->size(); ++e)
    CHECK(features(*one.train, e, 48) == features(*seven.train, e, 48));
  const std::vector<float> raw = features(*folder.load().train, 3, 48);
  const std::vector<float> normalised = features(*one.train, 3, 48);
  CHECK(std::abs(normalised[0] - (raw[0] - 0.5F) / 0.5F) < 1e-6F);
  CHECK(std::abs(normalised[20] - (raw[20] - 0.25F)) < 1e-6F);
  CHECK(one.train->black(0) == -1);
}

TEST_CASE("the digest is of bytes, classes and names, and not of the folder's place") {
  const ImageFolder folder, other;
  const std::string digest = image_folder_digest(folder.path());
  CHECK(folder.load().files[0].sha256 == digest);
  CHECK(image_folder_digest(other.path()) == digest);
  std::string listing;
  for (const char* name :
       {"test/cat/c.png", "test/dog/d.jpg", "train/cat/a.png", "train/dog/b.png"})
    listing += sha256_hex(folder.read(name)) + "  " + name + '\0';
  CHECK(digest == sha256_hex(listing));
  std::filesystem::rename(other.path("test"), other.path("val"));
  CHECK(image_folder_digest(other.path()) == digest);
  std::filesystem::rename(other.path("val/cat/c.png"), other.path("val/cat/e.png"));
  CHECK(image_folder_digest(other.path()) != digest);
  folder.write("train/cat/note.txt", "not an image");
  CHECK(image_folder_digest(folder.path()) == digest);
  folder.write("train/cat/a.png", folder.read("train/dog/b.png"));
  CHECK(image_folder_digest(folder.path()) != digest);
}

TEST_CASE("every image that is cut off, damaged or another thing is told with what to do") {
  const std::string good_png = png(16, 16, pattern(16, 16, 3));
  const std::string good_jpeg = jpeg(16, 16, pattern(16, 16, 3));
  const auto problem = [](const std::string& name, const std::string& content) {
    const std::string message = message_of([&] { decoded(name, content); });
    CHECK_THAT(message, ContainsSubstring(name + ": "));
    return message;
  };
  CHECK_THAT(problem("a.png", ""), ContainsSubstring("empty") && ContainsSubstring("replace"));
  CHECK_THAT(problem("a.jpg", "<html>"), ContainsSubstring("neither a JPEG nor a PNG"));
  CHECK_THAT(problem("a.jpg", good_png), ContainsSubstring("end in .png"));
  CHECK_THAT(problem("a.png", good_jpeg), ContainsSubstring("end in .jpg"));
  for (std::size_t size = 8; size < good_png.size(); ++size)
    CHECK_THAT(problem("a.png", good_png.substr(0, size)), ContainsSubstring("cut off"));
  for (std::size_t size = 3; size + 1 < good_jpeg.size(); ++size)
    CHECK_THAT(problem("a.jpg", good_jpeg.substr(0, size)), ContainsSubstring("cut off"));
  std::string damaged = good_png;
  damaged[damaged.size() / 2] ^= 1;
  CHECK_THAT(problem("a.png", damaged), ContainsSubstring("damaged"));
  CHECK_THAT(problem("a.jpg", jpeg(4, 4, pattern(4, 4, 4), JCS_CMYK)), ContainsSubstring("CMYK"));
  // A header alone allocates no memory.
  std::string vast = good_png;
  const unsigned char size[] = {0, 0, 0x80, 0, 0, 0, 0x80, 0};
  vast.replace(16, 8, reinterpret_cast<const char*>(size), 8);
  const auto sum = crc32(0, reinterpret_cast<const Bytef*>(vast.data()) + 12, 17);
  for (int k = 0; k < 4; ++k)
    vast[static_cast<std::size_t>(29 + k)] = static_cast<char>(sum >> (24 - 8 * k));
  CHECK_THAT(problem("a.png", vast), ContainsSubstring("32768 × 32768 pixels, more than"));
}

TEST_CASE("all broken images of a folder are told together, in order") {
  const ImageFolder folder;
  folder.write("train/cat/a.png", "");
  std::filesystem::create_symlink("nowhere", folder.path("train/dog/x.jpg"));
  const std::string message = message_of([&] { folder.load(); });
  CHECK_THAT(message, ContainsSubstring("2 of 3 images") && ContainsSubstring("cat/a.png") &&
                          ContainsSubstring("cannot read") && ContainsSubstring("dog/x.jpg"));
  CHECK(message.find("cat/a.png") < message.find("dog/x.jpg"));
  for (int k = 10; k < 30; ++k) folder.write(fmt::format("train/dog/{}.jpg", k), "");
  CHECK_THAT(message_of([&] { folder.load(); }), ContainsSubstring("and 12 more"));
}

TEST_CASE("a folder without images in classes, the same in training and tests, is refused") {
  namespace fs = std::filesystem;
  using Change = void (*)(const ImageFolder&);
  for (const auto& [change, says] : std::initializer_list<std::pair<Change, const char*>>{
           {[](auto& f) { fs::remove_all(f.path("test")); }, "/val: put images into"},
           {[](auto& f) { fs::remove_all(f.path("test/dog")); }, "/train, but not in"},
           {[](auto& f) { fs::remove_all(f.path("test/dog")); }, "the class 'dog' is in"},
           {[](auto& f) { fs::create_directory(f.path("test/owl")); }, "the class 'owl' is in"},
           {[](auto& f) { fs::create_directory(f.path("test/owl")); }, "/test, but not in"},
           {[](auto& f) { fs::remove(f.path("test/dog/d.jpg")); }, "test/dog has no image"},
           {[](auto& f) { f.write("train/loose.jpg", ""); }, "loose.jpg is in no class"},
           {[](auto& f) { f.write("train/cat/x.webp", ""); }, "save it as PNG or JPEG"},
           {[](auto& f) { f.write("train/cat/x.HEIC", ""); }, "save it as PNG or JPEG"},
           {[](auto& f) { f.write("train/cat/x.jfif", ""); }, "save it as PNG or JPEG"},
           {[](auto& f) { fs::create_directory(f.path("train/cat/deep")); },
            "cat/deep is a folder"},
           {[](auto& f) {
              for (const char* dog : {"train/dog", "test/dog"}) fs::remove_all(f.path(dog));
            },
            "two or more"}}) {
    const ImageFolder folder;
    change(folder);
    CHECK_THROWS_AS(folder.inspect(), UsageError);
    CHECK_THROWS_WITH(folder.inspect(), ContainsSubstring(says));
  }
}

TEST_CASE("images that do not fit into memory, and unknown channels, are refused") {
  const ImageFolder folder;
  const DatasetEntry& entry = dataset("image-folder");
  nlohmann::json options = options_of(entry, folder.options());
  options["channels"] = 2;
  CHECK_THAT(message_of([&] { entry.inspect(options); }), ContainsSubstring("channels is 2"));
  options["channels"] = 1;
  options["mean"] = {1, 2};
  CHECK_THAT(message_of([&] { entry.inspect(options); }), ContainsSubstring("mean has 2 numbers"));
  options["mean"] = nullptr;
  options["channels"] = 3;
  options["height"] = options["width"] = 8192;
  const double memory =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  for (int k = 0; k * 3.0 * 8192 * 8192 < memory; ++k)
    folder.write(fmt::format("train/cat/{}.jpg", k), "");
  CHECK_THAT(message_of([&] { entry.inspect(options); }), ContainsSubstring("GB of memory"));
  CHECK_THROWS_AS(entry.load(options), UsageError);
}

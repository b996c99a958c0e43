#include "engine/data/augmentation.hpp"

#include <numeric>
#include <set>

#include "tests/data/scratch.hpp"

namespace acid::testing {
namespace {

constexpr DataShape kShape{2, 3, 4, 2};
constexpr std::array<float, 2> kBlack{-1, -2};

std::vector<float> counted() {
  std::vector<float> image(24);
  std::iota(image.begin(), image.end(), 0.0f);
  return image;
}

std::vector<float> augmented(const Augmentation& asked, std::uint64_t example) {
  std::vector<float> image = counted();
  augment(asked, kShape, kBlack, Stream(5, example), image);
  return image;
}

}  // namespace

TEST_CASE("without a wish an image stays as it is, and every wish is a function of the stream") {
  CHECK(augmented({}, 1) == counted());
  CHECK_FALSE(Augmentation{}.any());
  for (const Augmentation& asked :
       {Augmentation{2, 1, false}, Augmentation{0, 0.2, false}, Augmentation{1, 0.5, true}}) {
    CHECK(asked.any());
    std::set<std::vector<float>> seen;
    for (std::uint64_t e = 0; e < 40; ++e) {
      CHECK(augmented(asked, e) == augmented(asked, e));
      seen.insert(augmented(asked, e));
    }
    CHECK(seen.size() > 10);
  }
}

TEST_CASE("half of the images are mirrored, left for right") {
  std::vector<float> mirror = counted();
  for (std::size_t row = 0; row < 6; ++row)
    std::reverse(mirror.begin() + static_cast<std::ptrdiff_t>(4 * row),
                 mirror.begin() + static_cast<std::ptrdiff_t>(4 * row + 4));
  int mirrored = 0;
  for (std::uint64_t e = 0; e < 400; ++e) {
    const std::vector<float> image = augmented({0, 1, true}, e);
    CHECK((image == mirror || image == counted()));
    mirrored += image == mirror ? 1 : 0;
  }
  CHECK(mirrored > 150);
  CHECK(mirrored < 250);
}

TEST_CASE("a padded crop moves all channels alike and shows black beyond the image") {
  const std::vector<float> whole = counted();
  std::set<std::pair<int, int>> seen;
  for (std::uint64_t e = 0; e < 400; ++e) {
    const std::vector<float> image = augmented({1, 1, false}, e);
    int found = 0;
    for (int down = -1; down <= 1; ++down)
      for (int right = -1; right <= 1; ++right) {
        bool same = true;
        for (int c = 0; c < 2; ++c)
          for (int y = 0; y < 3; ++y)
            for (int x = 0; x < 4; ++x) {
              const int from_y = y + down, from_x = x + right;
              const bool inside = from_y >= 0 && from_y < 3 && from_x >= 0 && from_x < 4;
              const auto at = [&](int row, int column) {
                return static_cast<std::size_t>(12 * c + 4 * row + column);
              };
              same &= image[at(y, x)] ==
                      (inside ? whole[at(from_y, from_x)] : kBlack[static_cast<std::size_t>(c)]);
            }
        if (same) seen.insert({down, right});
        found += same ? 1 : 0;
      }
    CHECK(found == 1);
  }
  CHECK(seen.size() == 9);
}

TEST_CASE("an enlarged part keeps to the range of its image, and a part of one colour stays so") {
  for (std::uint64_t e = 0; e < 200; ++e) {
    for (const float value : augmented({0, 0.05, false}, e)) {
      CHECK(value >= 0);
      CHECK(value <= 23);
    }
    std::vector<float> plain(24, 0.5f);
    augment({0, 0.05, false}, kShape, kBlack, Stream(5, e), plain);
    for (const float value : plain) CHECK(value == Approx(0.5f));
  }
}

TEST_CASE("an image of one pixel can be augmented") {
  for (std::uint64_t e = 0; e < 20; ++e) {
    std::vector<float> pixel{3};
    augment({0, 0.1, true}, {1, 1, 1, 2}, kBlack, Stream(1, e), pixel);
    CHECK(pixel[0] == 3);
  }
}

}  // namespace acid::testing
